import {
  demandKey,
  notAfter,
  type ClosedEpisode,
  type Demand,
  type Episode,
  type EpisodeOutcome,
} from "../../domain/demand/episode.ts";
import { limits } from "../../domain/limits.ts";
import type { State } from "../../domain/state.ts";
import { instant, latest, MINUTE, type Instant } from "../../domain/time.ts";
import { DemandCounts } from "./demand-counts.ts";

/** One refusal for want of a slot or by a limit. */
export interface DemandRefusal {
  readonly code: string;
  readonly rule: string | null;
  readonly peer: string;
  /** When it was decided, and the last journal line then. */
  readonly at: Instant;
  readonly seq: number;
}

/** Refusals wait for the disk, so one may arrive here after a sweep that was later. */
const CLOCK_TOLERANCE = MINUTE;

type OpenEpisode = { -readonly [K in keyof Episode]: Episode[K] };

/**
 * The denied episodes that are open. Every operation takes constant time for each episode that it
 * changes, however many are open.
 */
export class EpisodeTracker {
  readonly counts = new DemandCounts();
  /** In the order of the last refusal, oldest first. */
  readonly #open = new Map<string, OpenEpisode>();
  /** Keys of open episodes that changed since they were taken for writing. */
  readonly #changed = new Set<string>();
  readonly #ended: ClosedEpisode[] = [];
  #newestAt = instant(0);

  get openCount(): number {
    return this.#open.size;
  }

  /** How many ended episodes are not written yet. */
  get endedCount(): number {
    return this.#ended.length;
  }

  /** Continues the episodes that were open when the server stopped. */
  continue(episodes: Iterable<Episode>): void {
    const sorted = [...episodes].toSorted((a, b) => a.lastAt - b.lastAt);
    for (const episode of sorted) this.#open.set(demandKey(episode), { ...episode });
  }

  /**
   * Adds a refusal to the episode of this demand. `mayBegin` is called if a new one would begin;
   * false: the refusal is only counted.
   */
  refuse(demand: Demand, refusal: DemandRefusal, mayBegin: () => boolean): void {
    const { code, rule, peer, at, seq } = refusal;
    this.#followClock(at);
    const key = demandKey(demand);
    const episode = this.#findCurrent(key, at);
    // Deleted and added again, so that it becomes the newest.
    if (episode !== null) this.#open.delete(key);
    const isContinued = episode !== null && at - episode.firstAt < limits.episodeLength;
    if (episode !== null && !isContinued) this.#end(key, episode, "gave_up", episode.lastAt);
    if (isContinued) {
      episode.code = code;
      episode.rule = rule;
      episode.peer = peer;
      episode.lastAt = at;
      episode.lastSeq = seq;
      episode.attempts += 1;
      this.#open.set(key, episode);
    } else {
      if (this.#open.size >= limits.openEpisodes || !mayBegin()) return;
      const { product, feature, user } = demand;
      const times = { firstAt: at, lastAt: at, attempts: 1, firstSeq: seq, lastSeq: seq };
      this.#open.set(key, { product, feature, user, code, rule, peer, ...times });
      this.counts.countStart(demand);
    }
    this.#changed.add(key);
  }

  /** The demand was met, or its user left. */
  settle(demand: Demand, outcome: Exclude<EpisodeOutcome, "gave_up">, at: Instant): void {
    if (this.#open.size === 0) return;
    this.#followClock(at);
    const key = demandKey(demand);
    const episode = this.#findCurrent(key, at);
    if (episode !== null) this.#end(key, episode, outcome, at);
  }

  /** Ends the episodes without a retry for so long that their users gave up. */
  endSilent(at: Instant): void {
    this.#followClock(at);
    for (const [key, episode] of this.#open) {
      if (!isSilent(episode, at)) return;
      this.#end(key, episode, "gave_up", episode.lastAt);
    }
  }

  /**
   * Ends the episodes whose users got a slot while their end could not be recorded: the process was
   * killed before.
   */
  endGranted(state: State): void {
    for (const [key, episode] of this.#open) {
      const takenAt = findSlotTaken(state, episode);
      if (takenAt === null || takenAt < episode.lastAt) continue;
      if (isSilent(episode, takenAt)) this.#end(key, episode, "gave_up", episode.lastAt);
      else this.#end(key, episode, "granted", takenAt);
    }
  }

  /** At most `count` ended episodes, for writing, the oldest first. */
  takeEnded(count: number): ClosedEpisode[] {
    return this.#ended.splice(0, count);
  }

  /** At most `count` open episodes that changed, for writing. */
  takeChanged(count: number): Episode[] {
    const episodes: Episode[] = [];
    for (const key of this.#changed) {
      if (episodes.length >= count) break;
      this.#changed.delete(key);
      const episode = this.#open.get(key);
      if (episode !== undefined) episodes.push({ ...episode });
    }
    return episodes;
  }

  /** Puts back what could not be written, so that the next write includes it. */
  restore(ended: readonly ClosedEpisode[], changed: readonly Episode[]): void {
    this.#ended.unshift(...ended);
    for (const episode of changed) {
      const key = demandKey(episode);
      if (this.#open.has(key)) this.#changed.add(key);
    }
  }

  /** Forgets everything: nothing can be recorded here any more. */
  clear(): void {
    this.#open.clear();
    this.#changed.clear();
    this.#ended.length = 0;
  }

  /** The open episode of this key; one whose user gave up before `at` ends. */
  #findCurrent(key: string, at: Instant): OpenEpisode | null {
    const episode = this.#open.get(key);
    if (episode === undefined) return null;
    if (!isSilent(episode, at)) return episode;
    this.#end(key, episode, "gave_up", episode.lastAt);
    return null;
  }

  #end(key: string, episode: OpenEpisode, outcome: EpisodeOutcome, at: Instant): void {
    this.#open.delete(key);
    this.#changed.delete(key);
    this.#ended.push({ ...episode, outcome, endedAt: at });
    this.counts.countEnd(episode, outcome);
  }

  /** When the clock was set back, no episode is in its future. */
  #followClock(at: Instant): void {
    const isSetBack = at < this.#newestAt - CLOCK_TOLERANCE;
    if (isSetBack) {
      for (const [key, episode] of this.#open) this.#open.set(key, notAfter(episode, at));
    }
    if (isSetBack || at > this.#newestAt) this.#newestAt = at;
  }
}

const isSilent = ({ lastAt }: Episode, at: Instant): boolean =>
  at - lastAt >= limits.episodeSilence;

/** When the user took the slot that they hold now; null: they hold none. */
function findSlotTaken({ products }: State, { product, feature, user }: Demand): Instant | null {
  let takenAt: Instant | null = null;
  for (const { pool, features } of products.get(product) ?? []) {
    const holder = (feature === null ? pool : features.get(feature)?.pool)?.get(user);
    if (holder === undefined) continue;
    takenAt = takenAt === null ? holder.registeredAt : latest(takenAt, holder.registeredAt);
  }
  return takenAt;
}
