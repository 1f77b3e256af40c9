import type { Store } from "../../store/store.ts";
import { readPairStatus, type PairSide, type PairStatus } from "./pair-status.ts";

/** Which hosts serve this appliance. */
export class PairMembership {
  readonly #store: Store;
  readonly #side: PairSide;

  constructor(store: Store, side: PairSide) {
    this.#store = store;
    this.#side = side;
  }

  /** Null: this host is alone. */
  status(): PairStatus | null {
    return readPairStatus(this.#store, this.#side);
  }
}
