import type { Event } from "../../domain/model/event.ts";
import type { State } from "../../domain/model/state.ts";
import type { ApplianceClock } from "../../platform/clock.ts";
import type { StoreObserver } from "../../store/store-options.ts";

/** While another host of a pair leads, the time continues from the events that it writes. */
export class TimeReceiver implements StoreObserver {
  readonly #clock: Pick<ApplianceClock, "receive">;

  constructor(clock: Pick<ApplianceClock, "receive">) {
    this.#clock = clock;
  }

  applied(): void {}

  durable(): void {}

  followed(_events: readonly Event[], { latestEventAt }: State): void {
    this.#clock.receive(latestEventAt);
  }
}
