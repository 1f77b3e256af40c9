import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/model/fault.ts";
import { err, type Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/model/rule-context.ts";
import type { State } from "../domain/model/state.ts";
import { MINUTE } from "../domain/time.ts";
import { sha256 } from "../platform/crypto/hash.ts";
import { log } from "../platform/log.ts";
import type { StorageFault } from "../store/journal/storage-fault.ts";
import type { Store } from "../store/store.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import type { DemandCounts } from "./demand/demand-counts.ts";
import { findInstalled, isDemandFault, type RefusalSubject } from "./demand/demand-of-command.ts";
import { DemandRecorder } from "./demand/demand-recorder.ts";
import { RefusalCounters } from "./metrics/refusal-counters.ts";
import { RefusalCounter } from "./audit/refusal-counter.ts";

export type OperationResult<T> = Promise<Result<T, Fault | StorageFault>>;

/** A command as a caller sends it: without its type, and with an optional idempotency key. */
export type OperationInput<C extends Command> = Omit<C, "type" | "once" | "nonceDigest"> & {
  readonly idempotencyKey?: string | null;
};

/** A command that was decided. Its result follows when it is on disk. */
export interface Attempt<T> {
  /** Why it was refused; null: it was not. */
  readonly fault: Fault | StorageFault | null;
  /** The last journal line when it was decided. */
  readonly seq: number;
  readonly pendingResult: OperationResult<T>;
  /**
   * Begins or continues the denied episode of a refused claim whose request waits: nothing is
   * answered yet, so no refusal is counted.
   */
  readonly recordWait: () => void;
  /** Counts the refusal, if it is one, and returns the result. */
  readonly count: (isAfterWait?: boolean) => OperationResult<T>;
}

/**
 * Runs the commands of applications: decides them through the store, charges the audit budget of
 * their address, counts their refusals, and reports both to the record of demand.
 */
export class CommandRunner {
  readonly #store: Store;
  readonly #budget: AuditBudget;
  readonly #refusals = new RefusalCounter();
  readonly #refusalMetrics: RefusalCounters;
  readonly #demand: DemandRecorder;
  readonly #recordTimer: Timer;

  constructor(store: Store, budget = new AuditBudget(), refusalMetrics = new RefusalCounters()) {
    this.#store = store;
    this.#budget = budget;
    this.#refusalMetrics = refusalMetrics;
    this.#demand = new DemandRecorder(store);
    this.#recordTimer = setInterval(() => void this.recordRefusals(), MINUTE);
    this.#recordTimer.unref();
  }

  /** Denied episodes since the process started. */
  get demandCounts(): DemandCounts {
    return this.#demand.counts;
  }

  /**
   * Input is already parsed; the result is plain data, and on disk before it is returned. `payer` is
   * the address whose audit budget is charged; null: administration, which is not limited.
   */
  run<C extends Command, T>(
    command: C,
    payer: string | null,
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): OperationResult<T> {
    return this.attempt(command, payer, view).count();
  }

  /** Like `run`, but the caller decides whether a refusal is counted. */
  attempt<C extends Command, T>(
    command: C,
    payer: string | null,
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): Attempt<T> {
    const meter = payer === null ? null : this.#budget.meterFor(payer);
    const pendingResult = this.#store.transact(command, view, meter);
    const decision = this.#store.lastDecision;
    if (decision.fault !== null) {
      this.#recallReservation(command, decision.fault);
      if (isDemandFault(decision.fault)) this.#demand.resume(decision.at);
    }
    let isRecorded = false;
    const recordWait = (): void => {
      isRecorded = true;
      if (decision.fault === null) return;
      this.#demand.refuseToWaiting(command, decision.fault, decision, meter);
    };
    const count = (isAfterWait = false): OperationResult<T> =>
      pendingResult.then((result) => {
        if (!result.ok) {
          this.#countRefusal(command, result.fault);
          const { fault } = result;
          if (isRecorded) return result;
          if (isAfterWait) this.#demand.refuseAfterWait(command, fault, decision, meter);
          else this.#demand.refuse(command, fault, decision, meter);
        } else if (this.#demand.hasOpenEpisodes) this.#demand.settle(command, decision.at);
        return result;
      });
    return { fault: decision.fault, seq: decision.seq, pendingResult, recordWait, count };
  }

  /** Counts a refusal that was decided before its request waited. */
  refuse<T>(command: Command, fault: Fault | StorageFault): OperationResult<T> {
    this.#countRefusal(command, fault);
    return Promise.resolve(err(fault));
  }

  /** This host begins to lead a pair: the other one recorded the demand until now. */
  restart(): void {
    this.#demand.restart();
  }

  /** Writes the refusals that are only in memory, and ends the episodes without a retry. */
  async recordRefusals(): Promise<void> {
    // On a standby they wait until it leads.
    if (this.#store.status().fault?.code === "standby") return;
    await Promise.all([this.#writeRefusalCounts(), this.#demand.tick()]);
  }

  /** Writes the refusals that are only in memory. */
  async close(): Promise<void> {
    clearInterval(this.#recordTimer);
    await Promise.all([this.#writeRefusalCounts(), this.#demand.write()]);
  }

  /**
   * A member of a group was refused while others use its lent slots: the next ones are kept for it.
   * In the same step as the refusal, so that no other claim can take one before.
   */
  #recallReservation(command: Command, fault: Fault | StorageFault): void {
    if (fault.code !== "floating_not_available" || fault.recall === undefined) return;
    const { product, feature } = this.#findSubject(command);
    if (product === null) return;
    const pool = { product, feature };
    const { recall: group } = fault;
    this.#store
      .transact({ type: "RecallReservation", ...pool, group }, () => null)
      .catch((error: unknown) => log.error("could not recall a reservation", { error }));
  }

  #countRefusal(command: Command, fault: Fault | StorageFault): void {
    const subject = this.#findSubject(command);
    this.#refusals.count(subject, fault.code, "user" in command ? command.user : null);
    const scope = "feature" in command ? "feature" : "product";
    this.#refusalMetrics.count(subject.product, scope, fault.code);
  }

  #findSubject(command: Command): RefusalSubject {
    const product = "product" in command ? command.product : null;
    const feature = "feature" in command ? command.feature : null;
    return this.#store.peek((state) => findInstalled(state, product, feature));
  }

  async #writeRefusalCounts(): Promise<void> {
    const refusals = this.#refusals.drain();
    if (refusals.length === 0) return;
    const command = { type: "CountRefusals" as const, refusals };
    // Not before the outcome is known: they must not be written twice.
    const written = await this.#store.transact(command, () => null, null, "outcome");
    if (!written.ok) this.#refusals.restore(refusals);
  }
}

/** The view of a command whose outcome is its result. */
export const passOutcome = <O>(_state: State, outcome: O): O => outcome;

/**
 * Product and user are not in the fingerprint, because stored keys are already separated by them.
 */
export const buildIdempotency = (key: string | null, command: readonly unknown[]) =>
  key === null ? null : { key, fingerprint: sha256(JSON.stringify(command)) };

export const flattenResult = <T, F, G>(outer: Result<Result<T, F>, G>): Result<T, F | G> =>
  outer.ok ? outer.value : outer;
