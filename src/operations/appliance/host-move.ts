import type { Retirement } from "../../domain/model/state.ts";
import { randomId } from "../../platform/crypto/random.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { Store } from "../../store/store.ts";
import { passOutcome, type OperationResult } from "../command-runner.ts";

/** Moves the appliance to another host. */
export class HostMove {
  readonly #store: Store;
  readonly #recordRefusals: () => Promise<void>;

  constructor(store: Store, recordRefusals: () => Promise<void>) {
    this.#store = store;
    this.#recordRefusals = recordRefusals;
  }

  /** Retires the appliance on this host; it continues on the host that gets its file. */
  async moveAway(peer: string): OperationResult<Retirement> {
    // Nothing can be recorded here after the move.
    await this.#recordRefusals();
    return this.#store.transact({ type: "MoveAway", move: randomId(), peer }, passOutcome);
  }

  /** Null: the appliance was not moved away. */
  findRetirement(): Retirement | null {
    return this.#store.peek(({ retirement }) => retirement);
  }

  /** For a server: it must not grant what the appliance grants on the other host. */
  refuseIfMovedAway(folder: string): void {
    const retired = this.findRetirement();
    if (retired === null) return;
    throw new FolderRefused(
      `${folder} was moved to another host on ${rfc3339(retired.at)} and no longer grants licenses`,
      "run the server on that host; to cancel the move, run berth move in FILE here, and nowhere else",
    );
  }
}
