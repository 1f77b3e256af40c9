import type { FaultRows } from "./fault-row.ts";
import type { HandOverFault } from "./fault-types.ts";

/** One row for each refusal that concerns the hosts of a pair. */
export const PAIR_FAULTS: FaultRows<"pair_complete" | "host_not_admitted" | "not_a_pair"> = {
  pair_complete: {
    status: 409,
    message: ({ hosts }) => `the pair already has two hosts: ${hosts.join(" and ")}`,
    hint: "berth pair status shows both; berth pair leave ends the pair",
    sample: { hosts: ["alpha", "beta"] },
  },
  host_not_admitted: {
    status: 409,
    message: ({ host }) => `host ${host} was not admitted to the pair`,
    hint: "berth pair request on that host makes the request, berth pair admit on the other admits it",
    sample: { host: "beta" },
  },
  not_a_pair: {
    status: 409,
    message: () => "this appliance is served by one host alone",
    hint: "berth help pair says how to form a pair",
  },
};

const HAND_OVER_MESSAGES: Readonly<Record<HandOverFault["reason"], (host: string) => string>> = {
  alone: () => "the pair has no other host that could lead",
  silent: (host) => `host ${host} has not reported for several seconds; this host still leads`,
  behind: (host) => `host ${host} has not read the newest changes yet; this host still leads`,
  skew: (host) => `the system clocks differ by more than 10 seconds from host ${host}`,
  not_taken: (host) => `host ${host} did not take over within 5 seconds; either host leads again`,
};

const HAND_OVER_HINTS: Readonly<Record<HandOverFault["reason"], string>> = {
  alone: "berth pair request on the other host, then berth pair admit here, admits it",
  silent: "start berth on the other host; berth pair status shows when it reported",
  behind: "try again in a few seconds; berth pair status shows how far it is behind",
  skew: "correct the clocks of both hosts, for example with NTP",
  not_taken: "look at the log of berth on the other host; berth pair status shows which host leads",
};

export const HAND_OVER_FAULTS: FaultRows<"hand_over_refused"> = {
  hand_over_refused: {
    status: 409,
    message: ({ reason, host }) => HAND_OVER_MESSAGES[reason](host ?? ""),
    hint: ({ reason }) => HAND_OVER_HINTS[reason],
    sample: { reason: "silent", host: "beta" },
  },
};
