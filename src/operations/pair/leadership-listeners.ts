import { log } from "../../platform/log.ts";

/** What is done when this host begins to lead, and when it stops. */
export interface LeadershipListener {
  /** Before the first reply. If it fails, this host does not lead. */
  readonly begin?: (epoch: number) => Promise<void>;
  /** Before a planned end, while changes are still accepted: writes what is only in memory. */
  readonly finish?: () => Promise<void>;
  /** From now on nothing may be answered. Also called if `begin` failed. */
  readonly end?: () => void;
}

/** All listeners, in the order in which they were added. */
export class LeadershipListeners {
  readonly #listeners: LeadershipListener[] = [];

  add(listener: LeadershipListener): void {
    this.#listeners.push(listener);
  }

  /** Rejects with the first failure. */
  async begin(epoch: number): Promise<void> {
    for (const listener of this.#listeners) await listener.begin?.(epoch);
  }

  /** A failure keeps no other host from leading. */
  async finish(): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener.finish?.();
      } catch (error) {
        log.error("could not finish the work of the leader", { error });
      }
    }
  }

  end(): void {
    for (const listener of this.#listeners) {
      try {
        listener.end?.();
      } catch (error) {
        log.error("could not stop the work of the leader", { error });
      }
    }
  }
}
