// What a site must be like, kept outside the store: the rules' own state, every line that was ever
// decided with its bytes, and how far answers have promised that it stays.
import type { Command } from "../../../src/domain/command.ts";
import { isAudited } from "../../../src/domain/audited-events.ts";
import type { Event } from "../../../src/domain/event.ts";
import { evolve } from "../../../src/domain/evolve.ts";
import { assertGrantInvariants } from "../../../src/domain/invariants.ts";
import { SlotPool } from "../../../src/domain/pool.ts";
import { IdempotencyRecords } from "../../../src/domain/idempotency-records.ts";
import { emptyState, type State } from "../../../src/domain/state.ts";
import { instant, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { encodeLine, genesisHead, type ChainHead } from "../../../src/store/journal.ts";
import { emptyAuditLogEnd } from "../../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state-rows.ts";
import { assertPromise, describeDifference } from "./promises.ts";

interface ReferenceLine {
  readonly head: ChainHead;
  readonly events: readonly Event[];
  readonly text: string;
}

/** Lines that were decided and then turned away; a crash may bring them back. */
interface RefusedLines {
  readonly after: number;
  readonly lines: readonly ReferenceLine[];
}

export class ReferenceModel {
  state: State = emptyState("site");
  /** Answers have been given that rest on everything up to here. */
  promisedSeq = 0;
  /** Everything up to here has been synced by the store itself. */
  syncedSeq = 0;
  /** The first line of the batch that gathers; null: the next line begins one. */
  #from: number | null = null;
  /** By seq; the first stands for nothing. */
  readonly #known: ReferenceLine[] = [{ head: genesisHead, events: [], text: "" }];
  #turnedAway: RefusedLines[] = [];
  #record = Buffer.alloc(1 << 16);
  /** Where each audited line ends in the record. */
  readonly #recordEnds = [0];
  /** The state at `#baseSeq`, which is never beyond what is promised. */
  #base: State = emptyState("site");
  #baseSeq = 0;

  get head(): ChainHead {
    return this.headAt(this.#known.length - 1);
  }

  headAt(seq: number): ChainHead {
    const known = this.#known[seq];
    if (known === undefined) throw new Error(`line ${seq} was never decided`);
    return known.head;
  }

  /** The line a first start writes. */
  create(at: Instant): void {
    const event: Event = { type: "Created", at, kind: "site", appliance: "" };
    evolve(this.state, event);
    this.#append([event], at);
    this.closeBatch();
    this.promisedSeq = 1;
    this.syncedSeq = 1;
  }

  /** What the rules say; what they say happened is a line from here on. */
  decide(command: Command, at: Instant) {
    const done = transact(this.state, command, at);
    if (done.ok) for (const events of done.value.journalLines) this.#append(events, at);
    return done;
  }

  /** Nothing depends on how licenses are kept, but the order of events that touch them all does. */
  orderLicenses(like: State["licenses"]): void {
    const { licenses } = this.state;
    const mine = new Map(licenses);
    licenses.clear();
    for (const id of [...like.keys(), ...mine.keys()]) {
      const license = mine.get(id);
      if (license !== undefined) licenses.set(id, license);
    }
  }

  /** What gathered is on its way to the disk; returns how far that goes. */
  closeBatch(): number {
    this.#from = null;
    return this.head.seq;
  }

  promiseUpTo(seq: number): void {
    this.promisedSeq = Math.max(this.promisedSeq, seq);
  }

  /** A sync returned: what newer lines stand in the place of is gone for good. */
  markSynced(seq: number): void {
    this.syncedSeq = seq;
    this.#turnedAway = this.#turnedAway.filter(({ after }) => after >= seq);
  }

  /** Nothing beyond what is synced counts while the store goes on. */
  refuseUnsynced(): void {
    this.#turnedAway.push({ after: this.syncedSeq, lines: this.#known.slice(this.syncedSeq + 1) });
    this.rewindTo(this.syncedSeq);
  }

  /** Whether a store may stand at this line after a crash; the reference stands there then. */
  tryMoveTo(seq: number, sum: string): boolean {
    if (this.#known[seq]?.head.sum === sum) {
      // What a crash took may lie behind the end of the file, until newer lines are synced there.
      this.#turnedAway.push({ after: seq, lines: this.#known.slice(seq + 1) });
      this.rewindTo(seq);
      return true;
    }
    for (const { after, lines } of this.#turnedAway) {
      if (seq <= after || lines[seq - after - 1]?.head.sum !== sum) continue;
      this.rewindTo(after);
      for (const line of lines.slice(0, seq - after)) this.#push(line);
      this.#play(this.state, after, seq);
      return true;
    }
    return false;
  }

  /** Everything beyond is gone, and was never answered. */
  rewindTo(seq: number): void {
    if (seq > this.head.seq) throw new Error(`line ${seq} is ahead, not back`);
    this.state = this.stateAt(seq);
    this.#known.length = seq + 1;
    this.#recordEnds.length = this.head.auditSeq + 1;
    this.syncedSeq = Math.min(this.syncedSeq, seq);
    this.#from = null;
  }

  /** Whether the state at this line can still be told. */
  canRebuildAt(seq: number): boolean {
    return seq >= this.#baseSeq && seq < this.#known.length;
  }

  stateAt(seq: number): State {
    this.#play(this.#base, this.#baseSeq, Math.min(this.promisedSeq, seq));
    this.#baseSeq = Math.max(this.#baseSeq, Math.min(this.promisedSeq, seq));
    const state = copyState(this.#base);
    this.#play(state, this.#baseSeq, seq);
    return state;
  }

  /** Byte for byte the audited lines up to this one. */
  auditLogUpTo(auditSeq: number): Uint8Array | null {
    const end = this.#recordEnds[auditSeq];
    return end === undefined ? null : this.#record.subarray(0, end);
  }

  #play(state: State, from: number, to: number): void {
    for (let seq = from + 1; seq <= to; seq += 1) {
      for (const event of this.#known[seq]?.events ?? []) {
        evolve(state, event);
        assertGrantInvariants(state, event);
      }
    }
  }

  #append(events: readonly Event[], at: Instant): void {
    const { text, head } = encodeLine(this.head, this.#from, at, events);
    this.#from ??= head.seq;
    this.#push({ head, events, text });
  }

  #push(line: ReferenceLine): void {
    this.#known.push(line);
    const { events, text } = line;
    if (!events.some(isAudited)) return;
    const start = this.#recordEnds.at(-1) ?? 0;
    const length = Buffer.byteLength(text);
    if (start + length > this.#record.length) {
      this.#record = Buffer.concat([this.#record], 2 * (start + length));
    }
    this.#recordEnds.push(start + this.#record.write(text, start));
  }
}

/** Through its rows, and compared with what it is a copy of: rows that forget something show. */
function copyState(state: State): State {
  const copy = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
  const [found, wanted] = [serializeState(copy), serializeState(state)];
  assertPromise(
    "kept",
    found === wanted,
    () => `through its rows: ${describeDifference(found, wanted)}`,
  );
  return copy;
}

/** All there is in a state, as text. Facts of the machine are left out. */
export function serializeState(state: State): string {
  const licenses = [...state.licenses].toSorted(([a], [b]) => a - b);
  const products = [...state.products].map(([code, all]) => [code, all.map(({ id }) => id)]);
  const byPeer = peersIn(state);
  return JSON.stringify({ ...state, licenses, products, byPeer, clockBehind: 0 }, plain);
}

/** Does the index by address have as many as there are, and not one more? */
function peersIn({ licenses, registrationsByPeer }: State): unknown[] {
  const counts = new Map<string, number>();
  for (const { pool } of licenses.values()) {
    for (const { contact } of pool.inSlotOrder()) {
      counts.set(contact.peer, (counts.get(contact.peer) ?? 0) + 1);
    }
  }
  const has = (peer: string, count: number) =>
    registrationsByPeer.hasAtLeast(peer, count, instant(-1));
  return [...counts].map(([peer, count]) => [peer, has(peer, count), has(peer, count + 1)]);
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map || value instanceof IdempotencyRecords) return [...value];
  if (!(value instanceof SlotPool)) return value;
  const ends = value.expiryIndex
    .ended(instant(Infinity), Infinity)
    .map(({ slot, end }) => [slot, end]);
  return { holders: [...value.inSlotOrder()], size: value.size, ends };
}
