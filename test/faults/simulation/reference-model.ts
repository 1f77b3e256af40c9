// The expected state of a site, kept outside the store: the state by the domain rules, every
// decided journal line with its bytes, and the line up to which answers have promised durability.
import type { Command } from "../../../src/domain/decide.ts";
import { isAudited } from "../../../src/domain/event-catalogue.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { assertGrantInvariants } from "../../../src/domain/invariants.ts";
import { MutableSlotPool } from "../../../src/domain/evolve/mutable-slot-pool.ts";
import { emptyMutableState, type MutableState } from "../../../src/domain/evolve/mutable-state.ts";
import { IdempotencyRecords } from "../../../src/domain/model/idempotency-records.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { instant, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { encodeLine, genesisHead, type ChainHead } from "../../../src/store/journal/journal.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { assertPromise, describeDifference } from "./promises.ts";
import type { RuleContext } from "../../../src/domain/model/rule-context.ts";

interface ReferenceLine {
  readonly head: ChainHead;
  readonly events: readonly Event[];
  readonly text: string;
}

/** Lines that were decided and then refused; a crash may bring them back. */
interface RefusedLines {
  readonly after: number;
  readonly lines: readonly ReferenceLine[];
}

export class ReferenceModel {
  state: MutableState = emptyMutableState("site");
  /** Answers depend on every line up to this one. */
  promisedSeq = 0;
  /** The store has synced every line up to this one. */
  syncedSeq = 0;
  /** The first line of the batch being collected; null: the next line begins a batch. */
  #batchStart: number | null = null;
  /** By sequence number; the first entry is a placeholder. */
  readonly #lines: ReferenceLine[] = [{ head: genesisHead, events: [], text: "" }];
  #refusedBatches: RefusedLines[] = [];
  #auditLog = Buffer.alloc(1 << 16);
  /** The offset at which each audited line ends in the audit log. */
  readonly #auditLineEnds = [0];
  /** The state at `#baseSeq`, which is never after `promisedSeq`. */
  #base: State = emptyMutableState("site");
  #baseSeq = 0;

  get head(): ChainHead {
    return this.headAt(this.#lines.length - 1);
  }

  headAt(seq: number): ChainHead {
    const line = this.#lines[seq];
    if (line === undefined) throw new Error(`line ${seq} was never decided`);
    return line.head;
  }

  /** Adds the line that a first start writes. */
  create(at: Instant): void {
    const event: Event = { type: "Created", at, kind: "site", appliance: "" };
    evolve(this.state, event);
    this.#append([event], at);
    this.closeBatch();
    this.promisedSeq = 1;
    this.syncedSeq = 1;
  }

  /** Decides a command by the domain rules and adds the resulting lines. */
  decide(command: Command, context: RuleContext) {
    const { at } = context;
    const decision = transact(this.state, command, context);
    if (decision.ok) for (const events of decision.value.journalLines) this.#append(events, at);
    return decision;
  }

  /** Adopts the store's order of licenses, because events that concern all licenses follow it. */
  orderLicenses(order: State["licenses"]): void {
    const { licenses } = this.state;
    const ownLicenses = new Map(licenses);
    licenses.clear();
    for (const id of [...order.keys(), ...ownLicenses.keys()]) {
      const license = ownLicenses.get(id);
      if (license !== undefined) licenses.set(id, license);
    }
  }

  /** The store writes the collected batch; returns its last line. */
  closeBatch(): number {
    this.#batchStart = null;
    return this.head.seq;
  }

  promiseUpTo(seq: number): void {
    this.promisedSeq = Math.max(this.promisedSeq, seq);
  }

  /** A sync returned: refused lines that newer lines have overwritten cannot come back. */
  markSynced(seq: number): void {
    this.syncedSeq = seq;
    this.#refusedBatches = this.#refusedBatches.filter(({ after }) => after >= seq);
  }

  /** Refuses every line that is not synced, as the store does when it goes on. */
  refuseUnsynced(): void {
    this.#refusedBatches.push({
      after: this.syncedSeq,
      lines: this.#lines.slice(this.syncedSeq + 1),
    });
    this.rewindTo(this.syncedSeq);
  }

  /** Whether this may be the last line after a crash; if so, the reference continues from it. */
  tryMoveTo(seq: number, sum: string): boolean {
    if (this.#lines[seq]?.head.sum === sum) {
      // Lost lines may still be behind the end of the file, until newer lines are synced there.
      this.#refusedBatches.push({ after: seq, lines: this.#lines.slice(seq + 1) });
      this.rewindTo(seq);
      return true;
    }
    for (const { after, lines } of this.#refusedBatches) {
      if (seq <= after || lines[seq - after - 1]?.head.sum !== sum) continue;
      this.rewindTo(after);
      for (const line of lines.slice(0, seq - after)) this.#push(line);
      this.#replay(this.state, after, seq);
      return true;
    }
    return false;
  }

  /** Removes all later lines, which were never answered. */
  rewindTo(seq: number): void {
    if (seq > this.head.seq)
      throw new Error(`cannot rewind to line ${seq}: the last line is ${this.head.seq}`);
    this.state = this.stateAt(seq) as MutableState;
    this.#lines.length = seq + 1;
    this.#auditLineEnds.length = this.head.auditSeq + 1;
    this.syncedSeq = Math.min(this.syncedSeq, seq);
    this.#batchStart = null;
  }

  /** Whether the state at this line can still be rebuilt. */
  canRebuildAt(seq: number): boolean {
    return seq >= this.#baseSeq && seq < this.#lines.length;
  }

  stateAt(seq: number): State {
    this.#replay(this.#base, this.#baseSeq, Math.min(this.promisedSeq, seq));
    this.#baseSeq = Math.max(this.#baseSeq, Math.min(this.promisedSeq, seq));
    const state = copyState(this.#base);
    this.#replay(state, this.#baseSeq, seq);
    return state;
  }

  /** The bytes of all audited lines up to this one; null: there is no such line. */
  auditLogUpTo(auditSeq: number): Uint8Array | null {
    const end = this.#auditLineEnds[auditSeq];
    return end === undefined ? null : this.#auditLog.subarray(0, end);
  }

  #replay(state: State, from: number, to: number): void {
    for (let seq = from + 1; seq <= to; seq += 1) {
      for (const event of this.#lines[seq]?.events ?? []) {
        evolve(state, event);
        assertGrantInvariants(state, event);
      }
    }
  }

  #append(events: readonly Event[], at: Instant): void {
    const { text, head } = encodeLine(this.head, this.#batchStart, at, events);
    this.#batchStart ??= head.seq;
    this.#push({ head, events, text });
  }

  #push(line: ReferenceLine): void {
    this.#lines.push(line);
    const { events, text } = line;
    if (!events.some(isAudited)) return;
    const start = this.#auditLineEnds.at(-1) ?? 0;
    const length = Buffer.byteLength(text);
    if (start + length > this.#auditLog.length) {
      this.#auditLog = Buffer.concat([this.#auditLog], 2 * (start + length));
    }
    this.#auditLineEnds.push(start + this.#auditLog.write(text, start));
  }
}

/** Copies a state through its rows and compares the copy, to find data that the rows omit. */
function copyState(state: State): State {
  const copy = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
  const [found, expected] = [serializeState(copy), serializeState(state)];
  assertPromise(
    "kept",
    found === expected,
    () => `the state changes when it is written and read: ${describeDifference(found, expected)}`,
  );
  return copy;
}

/** The whole state as text. */
export function serializeState(state: State): string {
  const licenses = [...state.licenses].toSorted(([a], [b]) => a - b);
  const products = [...state.products].map(([code, all]) => [code, all.map(({ id }) => id)]);
  const registrationsByPeer = countsByPeer(state);
  const comparable = { ...state, licenses, products, registrationsByPeer };
  return JSON.stringify(comparable, toPlainValue);
}

/** Compares the index by peer with the registrations: it must have as many, and not one more. */
function countsByPeer({ licenses, registrationsByPeer }: State): unknown[] {
  const counts = new Map<string, number>();
  for (const { pool } of licenses.values()) {
    for (const { contact } of pool.inSlotOrder()) {
      counts.set(contact.peer, (counts.get(contact.peer) ?? 0) + 1);
    }
  }
  const hasAtLeast = (peer: string, count: number) =>
    registrationsByPeer.hasAtLeast(peer, count, instant(-1));
  return [...counts].map(([peer, count]) => [
    peer,
    hasAtLeast(peer, count),
    hasAtLeast(peer, count + 1),
  ]);
}

function toPlainValue(_key: string, value: unknown): unknown {
  if (value instanceof Map || value instanceof IdempotencyRecords) return [...value];
  if (!(value instanceof MutableSlotPool)) return value;
  const ends = value.expiryIndex
    .ended(instant(Infinity), Infinity)
    .map(({ slot, end }) => [slot, end]);
  return { holders: [...value.inSlotOrder()], size: value.size, ends };
}
