import { GENESIS } from "../../platform/crypto/hash.ts";
import { MINUTE } from "../../domain/time.ts";
import { STATE_FORMAT } from "./snapshot.ts";

type OldRow = Readonly<Record<string, unknown>>;

/**
 * From each format to the next: what that state would contain if it were written today. All steps
 * since licenses are signed stay here. Journals need none: the meaning of their events does not
 * change.
 */
const STEPS: Readonly<Record<number, (old: OldRow) => OldRow>> = {
  // 5: stores when each end was set, the sum of all counts, and clock jumps that can be undone; a
  // borrow is leased to one device; a changed contact is audited once a day; the audit log may have
  // declared gaps.
  4: (old) => ({
    ...old,
    // A license that can be borrowed counts as time-dependent since format 5.
    lentDated: old["lentDated"] === true || hasRow(old["licenses"], canBeBorrowed),
    jumps: [],
    auditGaps: [],
    lapsed: [],
    licenses: mapRows(old["licenses"], addCounted),
    features: mapRows(old["features"], addCounted),
    registrations: mapRows(old["registrations"], (row) => ({
      ...row,
      setAt: row["registeredAt"],
      lastSeenAt: findLastSeen(old, row),
      borrowedAt: row["borrowedUntil"] === null ? null : row["registeredAt"],
      leasedTo: null,
      contactAuditedAt: null,
      isContactUnaudited: false,
    })),
    featureRegistrations: mapRows(old["featureRegistrations"], (row) => ({
      ...row,
      setAt: row["registeredAt"],
      timeoutAt: row["end"],
    })),
    remembered: mapRows(old["remembered"], (row) => ({ ...row, peer: null })),
  }),
  // 4: an appliance can be moved to another host.
  3: (old) => ({
    ...old,
    retired: null,
    licenses: mapRows(old["licenses"], (license) => ({ ...license, movedAt: null })),
  }),
  // 3: backups can be restored, and old parts of the audit log can be removed.
  2: (old) => ({
    ...old,
    audit: { ...(old["audit"] as object), anchor: { seq: 0, sum: GENESIS } },
    restores: [],
  }),
};

/** A slot that is not borrowed ends a timeout after it was last seen. */
function findLastSeen({ mark, licenses }: OldRow, row: OldRow): unknown {
  const { license: id, registeredAt, end, borrowedUntil } = row;
  const rows: readonly OldRow[] = Array.isArray(licenses) ? licenses : [];
  const license = rows.find((other) => other["id"] === id);
  const timeout = Number((license?.["terms"] as OldRow | undefined)?.["timeoutMinutes"]) * MINUTE;
  if (borrowedUntil !== null || Number.isNaN(timeout)) return registeredAt;
  // A license renewed with another timeout gives a wrong time, but never an impossible one.
  return Math.min(Number(mark), Math.max(Number(registeredAt), Number(end) - timeout));
}

/** A value that is no list is left as it is: the schema check reports it. */
const mapRows = (rows: unknown, edit: (row: OldRow) => OldRow): unknown =>
  Array.isArray(rows) ? rows.map((row) => edit(row as OldRow)) : rows;

const hasRow = (rows: unknown, matches: (row: OldRow) => boolean): boolean =>
  Array.isArray(rows) && rows.some((row) => matches(row as OldRow));

const canBeBorrowed = ({ terms }: OldRow): boolean =>
  Number((terms as OldRow | null)?.["borrowHours"] ?? 0) > 0;

/**
 * Counts from before a reset are unknown, so the sum of all counts starts with the current total.
 */
function addCounted(row: OldRow): OldRow {
  const counter = row["counter"] as OldRow | undefined;
  return { ...row, counter: { ...counter, counted: counter?.["total"] } };
}

const OLDEST_FORMAT = Math.min(...Object.keys(STEPS).map(Number));

/** Written by a version of Berth whose format this one does not know, or no longer. */
export class FormatUnknown extends Error {
  override readonly name = "FormatUnknown";
  readonly hint: string;

  constructor(format: number) {
    const readable = `this version of berth reads formats ${OLDEST_FORMAT} to ${STATE_FORMAT}`;
    const isTooOld = format < OLDEST_FORMAT;
    super(
      `has format ${format}${isTooOld ? ", from before licenses were signed" : ""}; ${readable}`,
    );
    this.hint = isTooOld
      ? "its licenses are not signed: start with a new folder, --data DIR"
      : "start the version of berth that wrote it, or a newer one";
  }
}

/** Returns a state in the current format; data that is no state is returned unchanged. */
export function migrate(data: unknown): unknown {
  const format = (data as { format?: unknown } | null)?.format;
  if (!Number.isInteger(format)) return data;
  let state = data as OldRow;
  for (let current = Number(format); current !== STATE_FORMAT; current += 1) {
    const step = STEPS[current];
    if (step === undefined) throw new FormatUnknown(Number(format));
    state = { ...step(state), format: current + 1 };
  }
  return state;
}
