import type { State } from "../domain/state.ts";
import { latest, type Instant } from "../domain/time.ts";
import { transact, type TransactionResult } from "../domain/transact.ts";
import type { GroupCommit } from "./journal/group-commit.ts";
import { encodeLine, type ChainHead } from "./journal/journal.ts";
import type { AuditMeter, StoreOptions } from "./store-options.ts";

type LiveStateOptions = Pick<StoreOptions, "clock" | "jumps" | "behind" | "isBound" | "caps">;

interface StateWithHead {
  readonly state: State;
  readonly head: ChainHead;
}

/** The state in memory, the position of the chains, and the current time. */
export class LiveState {
  readonly #options: LiveStateOptions;
  #state: State;
  #head: ChainHead;

  constructor(options: LiveStateOptions, loaded: StateWithHead) {
    this.#options = options;
    this.#head = loaded.head;
    this.#state = this.#applyOptions(loaded.state);
  }

  get state(): State {
    return this.#state;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Continues from the state on disk. */
  replace({ state, head }: StateWithHead): void {
    this.#state = this.#applyOptions(state);
    this.#head = head;
  }

  /** Time never runs behind a written event. */
  now(): Instant {
    const { latestEventAt, clockJumps } = this.#state;
    const now = latest(this.#options.clock(latestEventAt, clockJumps), latestEventAt);
    this.#state.clockBehind = this.#options.behind?.(now) ?? 0;
    return now;
  }

  /** Called before any command after a jump: a later set-back needs the jump to undo it. */
  writeClockJumps(commit: GroupCommit, at: Instant): void {
    const lastJumpTo = this.#state.clockJumps.at(-1)?.to ?? 0;
    for (const jump of this.#options.jumps?.() ?? []) {
      if (jump.to <= lastJumpTo) continue;
      const transaction = transact(this.#state, { type: "JumpClock", ...jump }, at);
      if (transaction.ok) this.write(commit, transaction.value, at, null);
    }
  }

  /** Also writes expiries of other users' slots; the meter is not charged for those. */
  write(
    commit: GroupCommit,
    { journalLines, expiryLineCount }: TransactionResult<unknown>,
    at: Instant,
    meter: AuditMeter | null,
  ): void {
    let auditedBytes = 0;
    for (const [index, events] of journalLines.entries()) {
      const auditSeqBefore = this.#head.auditSeq;
      const { text, head } = encodeLine(this.#head, commit.pendingBatchSeq, at, events);
      commit.append(head.seq, text);
      this.#head = head;
      const isCharged =
        meter !== null && index >= expiryLineCount && head.auditSeq > auditSeqBefore;
      if (isCharged) auditedBytes += Buffer.byteLength(text);
    }
    if (auditedBytes > 0) meter?.charge(auditedBytes, at);
  }

  #applyOptions(state: State): State {
    state.isSignedForThisMachine = this.#options.isBound ?? state.isSignedForThisMachine;
    state.slotCaps = this.#options.caps ?? state.slotCaps;
    return state;
  }
}
