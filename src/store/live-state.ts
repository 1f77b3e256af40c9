import { limits } from "../domain/model/limits.ts";
import type { Event } from "../domain/model/event.ts";
import { evolve } from "../domain/evolve/evolve.ts";
import { isAudited } from "../domain/event-catalogue.ts";
import type { RuleContext, SlotCaps } from "../domain/model/rule-context.ts";
import type { State } from "../domain/model/state.ts";
import { latest, type Instant } from "../domain/time.ts";
import { transact, type TransactionResult } from "../domain/transact.ts";
import type { GroupCommit } from "./journal/group-commit.ts";
import { advanceChain, encodeLine, type ChainHead, type JournalLine } from "./journal/journal.ts";
import type { AuditMeter, StoreOptions } from "./store-options.ts";

type LiveStateOptions = Pick<
  StoreOptions,
  "clock" | "jumps" | "behind" | "isBound" | "openLog" | "caps" | "maxPlacesPerCaller"
>;

interface StateWithHead {
  readonly state: State;
  readonly head: ChainHead;
}

const isAlwaysSigned = (): boolean => true;
const NO_CAPS: SlotCaps = { perUser: null, perPeer: null };
const getNoCaps = (): SlotCaps => NO_CAPS;
const getDefaultMaxPlaces = (): number => limits.placesPerCaller;

/** Bounds the length of a line. */
const MAX_SHARED_EVENTS = 128;

/** A line that is not encoded yet, because further commands of its batch may add to it. */
interface OpenLine {
  readonly events: Event[];
  at: Instant;
}

/** The state in memory, the position of the chains, and the current time. */
export class LiveState {
  readonly #options: LiveStateOptions;
  #state: State;
  #head: ChainHead;
  #openLine: OpenLine | null = null;

  constructor(options: LiveStateOptions, loaded: StateWithHead) {
    this.#options = options;
    this.#head = loaded.head;
    this.#state = loaded.state;
  }

  get state(): State {
    return this.#state;
  }

  /** The number of the last line, also while it is open. */
  get lastSeq(): number {
    return this.#openLine === null ? this.#head.seq : this.#head.seq + 1;
  }

  get lastAuditSeq(): number {
    return this.#head.auditSeq;
  }

  /** The position of the chains after the last encoded line. */
  get head(): ChainHead {
    return this.#head;
  }

  /** Applies a line that another host wrote; false: it does not continue the chain. */
  applyLine(commit: GroupCommit, line: JournalLine, text: string): boolean {
    const next = advanceChain(this.#head, line);
    if (next === null) return false;
    for (const event of line.events) evolve(this.#state, event);
    commit.append(this.#head, next, text);
    this.#head = next;
    return true;
  }

  /** Continues from the state on disk. */
  replace({ state, head }: StateWithHead): void {
    this.#state = state;
    this.#head = head;
    this.#openLine = null;
  }

  /** The time, and what else the rules depend on now. Time never runs behind a written event. */
  makeContext(): RuleContext {
    const { clock, behind, isBound = isAlwaysSigned, caps = getNoCaps } = this.#options;
    const { maxPlacesPerCaller = getDefaultMaxPlaces } = this.#options;
    const { latestEventAt, clockJumps } = this.#state;
    const at = latest(clock(latestEventAt, clockJumps), latestEventAt);
    const clockBehind = behind?.(at) ?? 0;
    return {
      at,
      clockBehind,
      isSignedForThisMachine: isBound,
      hasLog: this.#options.openLog !== undefined,
      slotCaps: caps(),
      maxPlacesPerCaller: maxPlacesPerCaller(),
    };
  }

  /** Called before any command after a jump: a later set-back needs the jump to undo it. */
  writeClockJumps(commit: GroupCommit, context: RuleContext): void {
    const lastJumpTo = this.#state.clockJumps.at(-1)?.to ?? 0;
    for (const jump of this.#options.jumps?.() ?? []) {
      if (jump.to <= lastJumpTo) continue;
      const transaction = transact(this.#state, { type: "JumpClock", ...jump }, context);
      if (transaction.ok) this.write(commit, transaction.value, context.at, null);
    }
  }

  /**
   * Adds the lines of a command to the batch. A line without audited events stays open for others.
   * The meter is not charged for expiries of other users' slots, which come first.
   */
  write(
    commit: GroupCommit,
    { journalLines, expiryLineCount }: TransactionResult<unknown>,
    at: Instant,
    meter: AuditMeter | null,
  ): void {
    const [firstLine] = journalLines;
    if (firstLine !== undefined && journalLines.length === 1 && !firstLine.some(isAudited)) {
      return this.#addToOpenLine(commit, firstLine, at);
    }
    this.finishLine(commit);
    let auditedBytes = 0;
    for (const [index, events] of journalLines.entries()) {
      const auditSeqBefore = this.#head.auditSeq;
      const text = this.#appendLine(commit, events, at);
      const isCharged =
        meter !== null && index >= expiryLineCount && this.#head.auditSeq > auditSeqBefore;
      if (isCharged) auditedBytes += Buffer.byteLength(text);
    }
    if (auditedBytes > 0) meter?.charge(auditedBytes, at);
  }

  /** Encodes the open line, if there is one. Returns the position of the chains after it. */
  finishLine(commit: GroupCommit): ChainHead {
    if (this.#openLine !== null) {
      const { events, at } = this.#openLine;
      this.#openLine = null;
      this.#appendLine(commit, events, at);
    }
    return this.#head;
  }

  /**
   * Heartbeats of a batch share a line, until another command is written: a line for each would
   * take a checksum each, and three times the space. None of them is acknowledged before the whole
   * line is on disk.
   */
  #addToOpenLine(commit: GroupCommit, events: readonly Event[], at: Instant): void {
    const line = this.#openLine;
    if (line !== null && line.events.length < MAX_SHARED_EVENTS) {
      for (const event of events) line.events.push(event);
      line.at = at;
      return;
    }
    const { seq } = this.finishLine(commit);
    this.#openLine = { events: [...events], at };
    commit.expectLine(seq + 1, () => void this.finishLine(commit));
  }

  #appendLine(commit: GroupCommit, events: readonly Event[], at: Instant): string {
    const { text, head } = encodeLine(this.#head, commit.pendingBatchSeq, at, events);
    commit.append(this.#head, head, text);
    this.#head = head;
    return text;
  }
}
