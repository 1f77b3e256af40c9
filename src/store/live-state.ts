import type { State } from "../domain/state.ts";
import { latest, type Instant } from "../domain/time.ts";
import { transact, type TransactionResult } from "../domain/transact.ts";
import type { GroupCommit } from "./group-commit.ts";
import { encodeLine, type ChainHead } from "./journal.ts";
import type { AuditMeter, StoreOptions } from "./store-options.ts";

type LiveStateOptions = Pick<StoreOptions, "clock" | "jumps" | "behind" | "isBound" | "caps">;

interface StateWithHead {
  readonly state: State;
  readonly head: ChainHead;
}

/** The state in memory, where the chains stand with it, and what time it is. */
export class LiveState {
  readonly #options: LiveStateOptions;
  #state: State;
  #head: ChainHead;

  constructor(options: LiveStateOptions, known: StateWithHead) {
    this.#options = options;
    this.#head = known.head;
    this.#state = this.#applyOptions(known.state);
  }

  get state(): State {
    return this.#state;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Goes on from what the disk says. */
  replace({ state, head }: StateWithHead): void {
    this.#state = this.#applyOptions(state);
    this.#head = head;
  }

  /** Time never runs behind an event that was written. */
  now(): Instant {
    const { latestEventAt, clockJumps } = this.#state;
    const now = latest(this.#options.clock(latestEventAt, clockJumps), latestEventAt);
    this.#state.clockBehind = this.#options.behind?.(now) ?? 0;
    return now;
  }

  /** Before anything is done in the time after a jump: what a later set-back has to undo. */
  writeClockJumps(commit: GroupCommit, at: Instant): void {
    const known = this.#state.clockJumps.at(-1)?.to ?? 0;
    for (const jump of this.#options.jumps?.() ?? []) {
      if (jump.to <= known) continue;
      const recorded = transact(this.#state, { type: "JumpClock", ...jump }, at);
      if (recorded.ok) this.write(commit, recorded.value, at, null);
    }
  }

  /** Slots of others that ran out meanwhile are written with it, and are not its own to pay for. */
  write(
    commit: GroupCommit,
    { journalLines, expiryLineCount }: TransactionResult<unknown>,
    at: Instant,
    meter: AuditMeter | null,
  ): void {
    let audited = 0;
    for (const [place, events] of journalLines.entries()) {
      const before = this.#head.auditSeq;
      const { text, head } = encodeLine(this.#head, commit.pendingBatchSeq, at, events);
      commit.append(head.seq, text);
      this.#head = head;
      const isCharged = meter !== null && place >= expiryLineCount && head.auditSeq > before;
      if (isCharged) audited += Buffer.byteLength(text);
    }
    if (audited > 0) meter?.charge(audited, at);
  }

  #applyOptions(state: State): State {
    state.isSignedForThisMachine = this.#options.isBound ?? state.isSignedForThisMachine;
    state.slotCaps = this.#options.caps ?? state.slotCaps;
    return state;
  }
}
