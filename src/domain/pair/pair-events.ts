import type { EventRows } from "../model/event-row.ts";

/** What the audit log says of a pair. */
export const PAIR_EVENTS: EventRows<"HostAdmitted" | "LeaderChanged" | "PairLeft"> = {
  HostAdmitted: {
    kind: "administration",
    isAudited: true,
    summary: ({ host }) => `host ${host} admitted to the pair`,
    details: ({ host, log, hardwareId }) => ({ host, log, hardware_id: hardwareId }),
  },
  LeaderChanged: {
    kind: "appliance",
    isAudited: true,
    summary: ({ host, epoch }) => `host ${host} leads the pair (epoch ${epoch})`,
    details: ({ host, epoch, hardwareId }) => ({ host, epoch, hardware_id: hardwareId }),
  },
  PairLeft: {
    kind: "administration",
    isAudited: true,
    summary: ({ host, withoutLog }) =>
      `pair ended${withoutLog === true ? " without its database" : ""}: host ${host} serves alone`,
    details: ({ host, log, withoutLog }) => ({
      host,
      log,
      ...(withoutLog === true && { without_database: true }),
    }),
  },
};
