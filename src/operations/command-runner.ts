import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/fault.ts";
import type { Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import type { State } from "../domain/state.ts";
import { MINUTE } from "../domain/time.ts";
import { sha256 } from "../platform/crypto/hash.ts";
import type { StorageFault } from "../store/journal/group-commit.ts";
import type { Store } from "../store/store.ts";
import { AuditBudget } from "./audit-budget.ts";
import { RefusalCounter } from "./refusal-counter.ts";

export type OperationResult<T> = Promise<Result<T, Fault | StorageFault>>;

/** A command as a caller sends it: without its type, and with an optional idempotency key. */
export type OperationInput<C extends Command> = Omit<C, "type" | "once" | "nonceDigest"> & {
  readonly idempotencyKey?: string | null;
};

/** The product and the user that a refusal is counted for. */
interface RefusalSubject {
  readonly product: string | null;
  readonly user: string | null;
}

/**
 * Runs the commands of applications: decides them through the store, charges the audit budget of
 * their address, and counts their refusals.
 */
export class CommandRunner {
  readonly #store: Store;
  readonly #budget: AuditBudget;
  readonly #refusals = new RefusalCounter();
  readonly #refusalTimer: Timer;

  constructor(store: Store, budget = new AuditBudget()) {
    this.#store = store;
    this.#budget = budget;
    this.#refusalTimer = setInterval(() => void this.#writeRefusalCounts(), MINUTE);
    this.#refusalTimer.unref();
  }

  /**
   * Input is already parsed; the result is plain data, and on disk before it is returned. `payer` is
   * the address whose audit budget is charged; null: administration, which is not limited.
   */
  run<C extends Command, T>(
    command: C,
    { product, user }: RefusalSubject,
    payer: string | null,
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): OperationResult<T> {
    const meter = payer === null ? null : this.#budget.meterFor(payer);
    return this.#store.transact(command, view, meter).then((result) => {
      if (!result.ok) this.#countRefusal(result.fault.code, product, user);
      return result;
    });
  }

  /** Writes the refusals that are only in memory. */
  async close(): Promise<void> {
    clearInterval(this.#refusalTimer);
    await this.#writeRefusalCounts();
  }

  #countRefusal(code: string, product: string | null, user: string | null): void {
    this.#refusals.count(this.#store.peek(findInstalledProduct(product)), code, user);
  }

  async #writeRefusalCounts(): Promise<void> {
    const refusals = this.#refusals.drain();
    if (refusals.length === 0) return;
    const written = await this.#store.transact({ type: "CountRefusals", refusals }, () => null);
    if (!written.ok) this.#refusals.restore(refusals);
  }
}

/** The installed product of a request, if any; without a name, the only installed product. */
const findInstalledProduct =
  (product: string | null) =>
  ({ products }: State): string | null => {
    if (product !== null) return products.has(product) ? product : null;
    const [only, ...others] = products.keys();
    return only !== undefined && others.length === 0 ? only : null;
  };

/** The view of a command whose outcome is its result. */
export const passOutcome = <O>(_state: State, outcome: O): O => outcome;

/**
 * Product and user are not in the fingerprint, because stored keys are already separated by them.
 */
export const buildIdempotency = (key: string | null, command: readonly unknown[]) =>
  key === null ? null : { key, fingerprint: sha256(JSON.stringify(command)) };

export const flattenResult = <T, F, G>(outer: Result<Result<T, F>, G>): Result<T, F | G> =>
  outer.ok ? outer.value : outer;
