import type { Retirement } from "../domain/state.ts";
import { randomId } from "../platform/random.ts";
import type { Store } from "../store/store.ts";
import { passOutcome, type OperationResult } from "./command-runner.ts";

/** Moves the appliance to another host. */
export class HostMove {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Retires the appliance on this host; it continues on the host that gets its file. */
  moveAway(peer: string): OperationResult<Retirement> {
    return this.#store.transact({ type: "MoveAway", move: randomId(), peer }, passOutcome);
  }

  /** Null: the appliance was not moved away. */
  findRetirement(): Retirement | null {
    return this.#store.peek(({ retirement }) => retirement);
  }
}
