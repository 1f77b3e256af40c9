import type { EventRows } from "../model/event-row.ts";
import type { PlaceLeftCause, QueueEvent } from "../model/queue/queue-event-types.ts";

/** What the audit log says of queues. */
export const QUEUE_EVENTS: EventRows<QueueEvent["type"]> = {
  PlaceTaken: {
    kind: "queue",
    isAudited: true,
    // Any caller can cause these without limit, as it can cause grants.
    grants: "new",
    summary: ({ licenseId }) =>
      licenseId === null ? "waits for a slot" : `waits for a slot of license ${licenseId}`,
    details: ({ place, licenseId, facts, home }) => ({
      place,
      license_id: licenseId,
      os_hostname: facts.host,
      login: facts.login,
      reserved_group: home,
    }),
  },
  PlaceLeft: {
    kind: "queue",
    isAudited: true,
    summary: ({ cause }) => `left the queue: ${CAUSE_TEXTS[cause]}`,
    details: ({ place, cause }) => ({ place, cause }),
  },
  HoldGiven: {
    kind: "queue",
    isAudited: true,
    summary: () => "a free slot is held for the user",
    details: ({ place }) => ({ place }),
  },
  HoldWithdrawn: {
    kind: "queue",
    isAudited: true,
    summary: () => "the held slot was withdrawn, the user waits again",
    details: ({ place }) => ({ place }),
  },
  PlaceMoved: {
    kind: "queue",
    isAudited: true,
    summary: () => "moved to the front of the queue by an administrator",
    details: ({ place }) => ({ place }),
  },
};

const CAUSE_TEXTS: { readonly [C in PlaceLeftCause]: string } = {
  granted: "the user got a slot",
  unregistered: "the user unregistered",
  lapsed: "no contact in time",
  dropped: "removed by an administrator",
  denied: "the rules refuse the user",
  license_gone: "the license was removed",
};
