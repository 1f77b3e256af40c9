import type { RuleContext, SlotCaps } from "../domain/rule-context.ts";
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

const isAlwaysSigned = (): boolean => true;
const NO_CAPS: SlotCaps = { perUser: null, perPeer: null };

/** The state in memory, the position of the chains, and the current time. */
export class LiveState {
  readonly #options: LiveStateOptions;
  #state: State;
  #head: ChainHead;

  constructor(options: LiveStateOptions, loaded: StateWithHead) {
    this.#options = options;
    this.#head = loaded.head;
    this.#state = loaded.state;
  }

  get state(): State {
    return this.#state;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Continues from the state on disk. */
  replace({ state, head }: StateWithHead): void {
    this.#state = state;
    this.#head = head;
  }

  /** The time, and what else the rules depend on now. Time never runs behind a written event. */
  makeContext(): RuleContext {
    const { clock, behind, isBound = isAlwaysSigned, caps = NO_CAPS } = this.#options;
    const { latestEventAt, clockJumps } = this.#state;
    const at = latest(clock(latestEventAt, clockJumps), latestEventAt);
    const clockBehind = behind?.(at) ?? 0;
    return { at, clockBehind, isSignedForThisMachine: isBound, slotCaps: caps };
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

  /** Also writes expiries of other users' slots; the meter is not charged for those. */
  write(
    commit: GroupCommit,
    { journalLines, expiryLineCount }: TransactionResult<unknown>,
    at: Instant,
    meter: AuditMeter | null,
  ): void {
    let auditedBytes = 0;
    let index = 0;
    for (const events of journalLines) {
      const auditSeqBefore = this.#head.auditSeq;
      const { text, head } = encodeLine(this.#head, commit.pendingBatchSeq, at, events);
      commit.append(head.seq, text);
      this.#head = head;
      const isCharged =
        meter !== null && index >= expiryLineCount && head.auditSeq > auditSeqBefore;
      if (isCharged) auditedBytes += Buffer.byteLength(text);
      index += 1;
    }
    if (auditedBytes > 0) meter?.charge(auditedBytes, at);
  }
}
