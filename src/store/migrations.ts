import { GENESIS } from "../platform/hash.ts";
import { STATE_FORMAT } from "./snapshot.ts";

type Old = Readonly<Record<string, unknown>>;

/**
 * From each format to the next: what a state of that time would say if it were written today. Every
 * one since licenses are signed stays here; journals need none, their events mean what they meant.
 */
const STEPS: Readonly<Record<number, (old: Old) => Old>> = {
  // 5: when each end was set, what was ever counted, and jumps of the clock that can be undone; a
  // borrow is leased to one device; a changed contact is audited once a day;
  // the audit log may have declared gaps.
  4: (old) => ({
    ...old,
    // A license that can be borrowed from counts as dated since.
    lentDated: old["lentDated"] === true || some(old["licenses"], canBeBorrowed),
    jumps: [],
    auditGaps: [],
    lapsed: [],
    licenses: each(old["licenses"], withCounted),
    features: each(old["features"], withCounted),
    registrations: each(old["registrations"], (held) => ({
      ...held,
      setAt: held["registeredAt"],
      borrowedAt: held["borrowedUntil"] === null ? null : held["registeredAt"],
      leasedTo: null,
      contactAuditedAt: null,
      isContactUnaudited: false,
    })),
    featureRegistrations: each(old["featureRegistrations"], (held) => ({
      ...held,
      setAt: held["registeredAt"],
      timeoutAt: held["end"],
    })),
    remembered: each(old["remembered"], (done) => ({ ...done, peer: null })),
  }),
  // 4: an appliance can be carried to another host.
  3: (old) => ({
    ...old,
    retired: null,
    licenses: each(old["licenses"], (license) => ({ ...license, movedAt: null })),
  }),
  // 3: backups can be brought back, and old parts of the record can be let go.
  2: (old) => ({
    ...old,
    audit: { ...(old["audit"] as object), anchor: { seq: 0, sum: GENESIS } },
    restores: [],
  }),
};

/** What is no list is left for the check of the shape to find. */
const each = (rows: unknown, edit: (row: Old) => Old): unknown =>
  Array.isArray(rows) ? rows.map((row) => edit(row as Old)) : rows;

const some = (rows: unknown, is: (row: Old) => boolean): boolean =>
  Array.isArray(rows) && rows.some((row) => is(row as Old));

const canBeBorrowed = ({ terms }: Old): boolean =>
  Number((terms as Old | null)?.["borrowHours"] ?? 0) > 0;

/** What was reset before is not known any more. */
function withCounted(row: Old): Old {
  const counter = row["counter"] as Old | undefined;
  return { ...row, counter: { ...counter, counted: counter?.["total"] } };
}

const OLDEST_FORMAT = Math.min(...Object.keys(STEPS).map(Number));

/** Written by a Berth this one does not know, or no longer. */
export class FormatUnknown extends Error {
  override readonly name = "FormatUnknown";
  readonly hint: string;

  constructor(format: number) {
    const known = `this version of berth reads formats ${OLDEST_FORMAT} to ${STATE_FORMAT}`;
    const old = format < OLDEST_FORMAT;
    super(`has format ${format}${old ? ", from before licenses were signed" : ""}; ${known}`);
    this.hint = old
      ? "its licenses are not signed: start with a new folder, --data DIR"
      : "start the version of berth that wrote it, or a newer one";
  }
}

/** A state as it is written today; what is not a state at all comes back as it is. */
export function migrate(data: unknown): unknown {
  const format = (data as { format?: unknown } | null)?.format;
  if (!Number.isInteger(format)) return data;
  let state = data as Old;
  for (let at = Number(format); at !== STATE_FORMAT; at += 1) {
    const step = STEPS[at];
    if (step === undefined) throw new FormatUnknown(Number(format));
    state = { ...step(state), format: at + 1 };
  }
  return state;
}
