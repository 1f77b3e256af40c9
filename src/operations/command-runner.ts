import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/model/fault.ts";
import type { Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/model/rule-context.ts";
import type { State } from "../domain/model/state.ts";
import { MINUTE } from "../domain/time.ts";
import { sha256 } from "../platform/crypto/hash.ts";
import { log } from "../platform/log.ts";
import type { StorageFault } from "../store/journal/storage-fault.ts";
import type { AuditMeter, DecidedChange } from "../store/store-options.ts";
import type { Store } from "../store/store.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import type { DemandCounts } from "./demand/demand-counts.ts";
import { findInstalled, isDemandFault, type RefusalSubject } from "./demand/demand-of-command.ts";
import { DemandRecorder } from "./demand/demand-recorder.ts";
import { RefusalCounters } from "./metrics/refusal-counters.ts";
import { RefusalCounter } from "./audit/refusal-counter.ts";

export type CommandResult<T> = Result<T, Fault | StorageFault>;
export type OperationResult<T> = Promise<CommandResult<T>>;

/** A command as a caller sends it: without its type, and with an optional idempotency key. */
export type OperationInput<C extends Command> = Omit<C, "type" | "once" | "nonceDigest"> & {
  readonly idempotencyKey?: string | null;
};

/** Selects the data of a reply, in the step that decides the command. */
export type OutcomeView<C extends Command, T> = (
  state: State,
  outcome: OutcomeOf<C>,
  context: RuleContext,
) => T;

/** A command that was decided, but of which nothing is counted yet. */
export interface DecidedCommand<T> extends DecidedChange<T> {
  readonly command: Command;
  /** Of the address that pays for additions to the audit log; null: no limit. */
  readonly meter: AuditMeter | null;
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
  async runCommand<C extends Command, T>(
    command: C,
    payer: string | null,
    view: OutcomeView<C, T>,
  ): OperationResult<T> {
    const decided = this.decideCommand(command, payer, view);
    const result = await decided.pendingResult;
    this.countOutcome(decided, result);
    return result;
  }

  /** Decides and applies the command, in one step. The caller waits for the disk, and counts. */
  decideCommand<C extends Command, T>(
    command: C,
    payer: string | null,
    view: OutcomeView<C, T>,
  ): DecidedCommand<T> {
    const meter = payer === null ? null : this.#budget.meterFor(payer);
    const { at, seq, fault, pendingResult } = this.#store.decide(command, view, meter);
    if (fault !== null) {
      this.#recallReservation(command, fault);
      if (isDemandFault(fault)) this.#demand.resume(at);
    }
    return { command, meter, at, seq, fault, pendingResult };
  }

  /** Counts a refusal, or ends the denied episodes of a command that was granted. */
  countOutcome<T>(decided: DecidedCommand<T>, result: CommandResult<T>): void {
    if (result.ok) return this.#demand.endEpisodes(decided);
    this.countRefusal(decided.command, result.fault);
    this.#demand.recordRefusal(decided, result.fault);
  }

  /**
   * Begins or continues the denied episode of a refused claim whose user took a place. Its refusal
   * is counted only if it is the reply.
   */
  recordWait<T>(decided: DecidedCommand<T>): void {
    if (decided.fault !== null) this.#demand.recordWait(decided, decided.fault);
  }

  /** Like `countOutcome`, for the last claim of a request that waited. */
  countAfterWait<T>(decided: DecidedCommand<T>, result: CommandResult<T>): void {
    if (result.ok) return this.#demand.endEpisodes(decided);
    this.countRefusal(decided.command, result.fault);
    this.#demand.recordRefusalAfterWait(decided, result.fault);
  }

  /** Counts a refusal whose denied episode was recorded when its request began to wait. */
  countRefusal(command: Command, fault: Fault | StorageFault): void {
    const subject = this.#findSubject(command);
    this.#refusals.count(subject, fault.code, "user" in command ? command.user : null);
    const scope = "feature" in command ? "feature" : "product";
    this.#refusalMetrics.count(subject.product, scope, fault.code);
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
