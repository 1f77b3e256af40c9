import type { EventRows } from "../model/event-row.ts";
import { DAY, later, type Instant, dayOf } from "../time.ts";

/** The first and the last day, in words. */
const formatDays = (from: Instant, to: Instant): string => {
  const last = later(to, -DAY);
  return from === last ? `of ${dayOf(from)}` : `from ${dayOf(from)} to ${dayOf(last)}`;
};

/** What the audit log says of usage statements. */
export const STATEMENT_EVENTS: EventRows<"StatementMade" | "StatementAcknowledged"> = {
  StatementMade: {
    kind: "licenses",
    isAudited: true,
    summary: ({ n, vendor, from, to }) =>
      `usage statement ${n} for vendor ${vendor} made, ${formatDays(from, to)}`,
    details: ({ vendor, n, from, to, auditFrom, auditTo, digest, previous }) => ({
      vendor,
      number: n,
      from: dayOf(from),
      to: dayOf(to),
      audit_from: auditFrom,
      audit_to: auditTo,
      digest,
      previous,
    }),
  },
  StatementAcknowledged: {
    kind: "licenses",
    isAudited: true,
    summary: ({ n, vendor }) => `usage statement ${n} acknowledged by vendor ${vendor}`,
    details: ({ vendor, n, digest }) => ({ vendor, number: n, digest }),
  },
};
