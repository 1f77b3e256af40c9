import type { ReleasedBy } from "../domain/model/event.ts";
import { instant, later, type Instant } from "../domain/time.ts";
import type { RecordedEvent, RecordedLine } from "./recorded-line.ts";

/**
 * Lines of the audit log as rows: what a site record needs of them, without the chain of sums.
 * Reading them takes a fifth of the time. The usual events have few cells; of all others the row
 * has the event itself.
 */
export interface RowBlock {
  /** The number of the first line; the others follow it without a gap. */
  readonly auditSeq: number;
  readonly rows: readonly Row[];
}

const OTHER = 0;
const TAKEN = 1;
const RELEASED = 2;
const EXPIRED = 3;
const COUNTED = 4;

/** The differences of `seq` and `at` to the row before. */
type Steps = readonly [seq: number, at: number];
/** How much earlier the event is than its line, and whom it concerns. */
type Of<User> = readonly [late: number, license: number, user: User];
export type Row =
  | readonly [typeof OTHER, ...Steps, ...events: RecordedEvent[]]
  | readonly [typeof TAKEN, ...Steps, ...Of<string>, slot: number, host: string, peer: string]
  | readonly [typeof RELEASED, ...Steps, ...Of<string>, slot: number, by: ReleasedBy]
  | readonly [typeof EXPIRED, ...Steps, ...Of<string>, slot: number]
  | readonly [typeof COUNTED, ...Steps, ...Of<string | null>, count: number, total: number];

/** What a site record is made of; nothing else is kept. */
const RECORDED: ReadonlySet<RecordedEvent["type"]> = new Set([
  "ClockJumped",
  "ClockSetBack",
  "ConsumptionAdded",
  "EpisodeEnded",
  "FeatureConsumptionAdded",
  "FeatureExpired",
  "FeatureReleased",
  "FeatureTaken",
  "HoldGiven",
  "HoldWithdrawn",
  "LicenseInstalled",
  "LicenseRemoved",
  "MovedAway",
  "MovedIn",
  "PlaceLeft",
  "PlaceMoved",
  "PlaceTaken",
  "ReservationRecalled",
  "RulesApplied",
  "SlotBorrowed",
  "SlotExpired",
  "SlotReleased",
  "SlotRestored",
  "SlotTaken",
]);

/** The row of a line; `before` is the line of the row before it, or null. */
export function makeRow(line: RecordedLine, before: RecordedLine | null): Row {
  const [seq, at] = [line.seq - (before?.seq ?? 0), line.at - (before?.at ?? 0)];
  const events = line.events.filter(({ type }) => RECORDED.has(type));
  const [event, ...others] = events;
  if (event !== undefined && others.length === 0) {
    const late = line.at - event.at;
    switch (event.type) {
      case "SlotTaken": {
        const { license, user, slot, contact, identity } = event;
        if (identity !== undefined) break;
        return [TAKEN, seq, at, late, license, user, slot, contact.hostname, contact.peer];
      }
      case "SlotReleased":
        return [RELEASED, seq, at, late, event.license, event.user, event.slot, event.by];
      case "SlotExpired":
        return [EXPIRED, seq, at, late, event.license, event.user, event.slot];
      case "ConsumptionAdded":
        return [COUNTED, seq, at, late, event.license, event.user, event.count, event.total];
      default:
    }
  }
  return [OTHER, seq, at, ...events];
}

/** The lines of a block. */
export function* readRows({ auditSeq: first, rows }: RowBlock): Generator<RecordedLine> {
  let [auditSeq, seq, at] = [first, 0, 0];
  for (const row of rows) {
    seq += row[1];
    at += row[2];
    const events = readEvents(row, instant(at));
    yield { seq, at: instant(at), audit_seq: auditSeq, events };
    auditSeq += 1;
  }
}

function readEvents(row: Row, lineAt: Instant): readonly RecordedEvent[] {
  if (row[0] === OTHER) return row.slice(EVENTS_FROM) as readonly RecordedEvent[];
  const at = later(lineAt, -row[3]);
  const license = row[4];
  switch (row[0]) {
    case TAKEN: {
      const contact = { hostname: row[7], peer: row[8] };
      return [{ type: "SlotTaken", at, license, user: row[5], slot: row[6], contact }];
    }
    case RELEASED:
      return [{ type: "SlotReleased", at, license, user: row[5], slot: row[6], by: row[7] }];
    case EXPIRED:
      return [{ type: "SlotExpired", at, license, user: row[5], slot: row[6] }];
    default: {
      const [count, total] = [row[6], row[7]];
      return [{ type: "ConsumptionAdded", at, license, user: row[5], count, total }];
    }
  }
}

const EVENTS_FROM = 3;
