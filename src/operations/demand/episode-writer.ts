import type { ClosedEpisode, Episode } from "../../domain/model/demand/episode.ts";
import type { EndEpisodes, ObserveEpisodes } from "../../domain/demand/record-episodes.ts";
import type { Fault } from "../../domain/model/fault.ts";
import type { Result } from "../../domain/result.ts";
import { log } from "../../platform/log.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import type { EpisodeTracker } from "./episode-tracker.ts";

/** Episodes in a line of the journal: it is written in a millisecond or two. */
const EPISODES_PER_LINE = 500;

/** Writes the denied episodes of a tracker to the journal. */
export class EpisodeWriter {
  readonly #store: Store;
  readonly #tracker: EpisodeTracker;
  /** Writes follow each other: the end of an episode is written before the next of its demand. */
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(store: Store, tracker: EpisodeTracker) {
    this.#store = store;
    this.#tracker = tracker;
  }

  /** Writes all that changed. What cannot be written waits for the next call. */
  write(): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#writeAll());
    return this.#lastWrite;
  }

  /** Writes early if so many episodes ended that they fill a line. */
  writeIfFull(): void {
    if (this.#tracker.endedCount === EPISODES_PER_LINE) void this.write();
  }

  async #writeAll(): Promise<void> {
    try {
      while (await runBetweenRequests(() => this.#writeSome()));
    } catch (error) {
      log.error("could not record denied episodes", { error });
    }
  }

  /** True: there may be more to write. */
  #writeSome(): Promise<boolean> {
    const ended = this.#tracker.takeEnded(EPISODES_PER_LINE);
    // Open episodes only after all that ended: the next episode of a demand may be among them.
    const changed =
      this.#tracker.endedCount === 0 ? this.#tracker.takeChanged(EPISODES_PER_LINE) : [];
    return this.#writeTaken(ended, changed);
  }

  async #writeTaken(
    ended: readonly ClosedEpisode[],
    changed: readonly Episode[],
  ): Promise<boolean> {
    if (ended.length === 0 && changed.length === 0) return false;
    // Both are decided before anything else can be: no episode ends between them.
    const [endedResult, changedResult] = await Promise.all([
      this.#transact({ type: "EndEpisodes", episodes: ended }),
      this.#transact({ type: "ObserveEpisodes", episodes: changed }),
    ]);
    if (endedResult.ok && changedResult.ok) return true;
    const isMovedAway = [endedResult, changedResult].some(
      (result) => !result.ok && result.fault.code === "moved_away",
    );
    if (isMovedAway) this.#tracker.clear();
    else this.#tracker.restore(endedResult.ok ? [] : ended, changedResult.ok ? [] : changed);
    return false;
  }

  /** Not before the outcome is known: no episode may be written twice. */
  #transact(command: EndEpisodes | ObserveEpisodes): Promise<Result<null, Fault | StorageFault>> {
    return this.#store.transact(command, () => null, null, "outcome");
  }
}
