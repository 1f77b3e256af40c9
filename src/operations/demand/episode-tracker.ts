import {
  demandKey,
  notAfter,
  type ClosedEpisode,
  type Demand,
  type Episode,
  type EpisodeOutcome,
} from "../../domain/model/demand/episode.ts";
import { limits } from "../../domain/model/limits.ts";
import type { State } from "../../domain/model/state.ts";
import { earliest, instant, latest, MINUTE, type Instant } from "../../domain/time.ts";
import { DemandCounts } from "./demand-counts.ts";

/** One refusal for want of a slot or by a limit. */
export interface DemandRefusal {
  readonly code: string;
  readonly rule: string | null;
  readonly peer: string;
  /** When it was decided, and the last journal line then. */
  readonly at: Instant;
  readonly seq: number;
  /** 0: it is the end of a wait, and its call was recorded when the wait began. Absent: 1. */
  readonly attempts?: 0 | 1;
}

/** Refusals wait for the disk, so one may arrive here after a sweep that was later. */
const CLOCK_TOLERANCE = MINUTE;

interface OpenEpisode {
  /**
   * The key in the map. The same text of a later request is not stored in its place: it would keep
   * the collector busy, with thousands of refusals a second.
   */
  readonly key: string;
  readonly episode: { -readonly [K in keyof Episode]: Episode[K] };
  /** Whether it changed since it was taken for writing; if so, it is in the list. */
  isChanged: boolean;
  /** Whether it is among the open ones of the counts. */
  isCounted: boolean;
}

/**
 * The denied episodes that are open. Every operation takes constant time for each episode that it
 * changes, however many are open.
 */
export class EpisodeTracker {
  readonly counts = new DemandCounts();
  /** In the order of the last refusal, oldest first. */
  readonly #open = new Map<string, OpenEpisode>();
  /** Episodes that changed since they were taken for writing; some may have ended since. */
  #changed: OpenEpisode[] = [];
  readonly #ended: ClosedEpisode[] = [];
  /** Those that the last process did not write. */
  #endedBefore: ClosedEpisode[] = [];
  #newestAt = instant(0);

  get openCount(): number {
    return this.#open.size;
  }

  /** How many ended episodes are not written yet. */
  get endedCount(): number {
    return this.#ended.length;
  }

  /**
   * Continues the episodes that were open when the server stopped. They are counted as open by
   * `countContinued`, when those that ended while the server was stopped are known.
   */
  continue({ openEpisodes, endedEpisodes }: Pick<State, "openEpisodes" | "endedEpisodes">): void {
    const sorted = [...openEpisodes.values()].toSorted((a, b) => a.lastAt - b.lastAt);
    for (const episode of sorted) this.#open.set(...entryOf({ ...episode }));
    this.#endedBefore = [...endedEpisodes.values()].flat();
  }

  /** Writes with the next ones those that had ended: a process that was killed could not. */
  continueEnded(): void {
    for (const episode of this.#endedBefore.splice(0)) {
      this.#ended.push(episode);
      this.counts.countEnd(episode, episode.outcome, false);
    }
  }

  /**
   * A user who waits in a queue has an episode, also if the server was killed before it was
   * recorded. `last`: the present, and the last journal line.
   */
  continueWaiting({ queues }: State, last: { readonly at: Instant; readonly seq: number }): void {
    for (const { product, places } of queues) {
      for (const { user, peer, since } of places) {
        const demand = { product, feature: null, user };
        if (this.#open.has(demandKey(demand)) || this.#open.size >= limits.openEpisodes) continue;
        const refusal = { code: "floating_not_available", rule: null, peer, ...last };
        const firstAt = earliest(since, last.at);
        const [key, open] = entryOf({ ...beginEpisode(demand, refusal), firstAt });
        this.#open.set(key, open);
        this.#markChanged(open);
      }
    }
  }

  /**
   * Adds a refusal to the episode of this demand. `mayBegin` is called if a new one would begin;
   * false: the refusal is only counted.
   */
  addRefusal(demand: Demand, refusal: DemandRefusal, mayBegin: () => boolean): void {
    const { at } = refusal;
    this.#followClock(at);
    const current = this.#findCurrent(demandKey(demand), at);
    if (current !== null && at - current.episode.firstAt < limits.episodeLength) {
      addToEpisode(current.episode, refusal);
      // Deleted and added again, so that it becomes the newest.
      this.#open.delete(current.key);
      this.#open.set(current.key, current);
      return this.#markChanged(current);
    }
    if (current !== null) this.#end(current, "gave_up", current.episode.lastAt);
    if (this.#open.size >= limits.openEpisodes || !mayBegin()) return;
    const [key, open] = entryOf(beginEpisode(demand, refusal));
    open.isCounted = true;
    this.#open.set(key, open);
    this.counts.countStart(demand);
    this.#markChanged(open);
  }

  /** The demand was met, or its user left. */
  endEpisode(demand: Demand, outcome: Exclude<EpisodeOutcome, "gave_up">, at: Instant): void {
    if (this.#open.size === 0) return;
    this.#followClock(at);
    const current = this.#findCurrent(demandKey(demand), at);
    if (current !== null) this.#end(current, outcome, at);
  }

  /** Ends the episodes without a retry for so long that their users gave up. */
  endSilent(at: Instant): void {
    this.#followClock(at);
    for (const open of this.#open.values()) {
      if (!isSilent(open.episode, at)) return;
      this.#end(open, "gave_up", open.episode.lastAt);
    }
  }

  /**
   * Ends the episodes whose users got a slot while their end could not be recorded: the process was
   * killed before.
   */
  endGranted(state: State): void {
    for (const open of this.#open.values()) {
      const { episode } = open;
      const takenAt = findSlotTaken(state, episode);
      if (takenAt === null || takenAt < episode.lastAt) continue;
      if (isSilent(episode, takenAt)) this.#end(open, "gave_up", episode.lastAt);
      else this.#end(open, "granted", takenAt);
    }
  }

  /** Counts the episodes of the last process that are still open. */
  countContinued(): void {
    for (const open of this.#open.values()) {
      if (open.isCounted) continue;
      open.isCounted = true;
      this.counts.countContinued(open.episode);
    }
  }

  /** At most `count` ended episodes, for writing, the oldest first. */
  takeEnded(count: number): ClosedEpisode[] {
    return this.#ended.splice(0, count);
  }

  /** At most `count` open episodes that changed, for writing. */
  takeChanged(count: number): Episode[] {
    const episodes: Episode[] = [];
    let takenCount = 0;
    for (const open of this.#changed) {
      if (episodes.length >= count) break;
      takenCount += 1;
      open.isChanged = false;
      if (this.#isOpen(open)) episodes.push({ ...open.episode });
    }
    this.#changed.splice(0, takenCount);
    return episodes;
  }

  /** Puts back what could not be written, so that the next write includes it. */
  restore(ended: readonly ClosedEpisode[], changed: readonly Episode[]): void {
    this.#ended.unshift(...ended);
    for (const episode of changed) {
      const open = this.#open.get(demandKey(episode));
      if (open !== undefined) this.#markChanged(open);
    }
  }

  /** Forgets everything: nothing can be recorded here any more. */
  clear(): void {
    this.#open.clear();
    this.#changed = [];
    this.#ended.length = 0;
    this.counts.forgetOpen();
  }

  /** The open episode of this key; one whose user gave up before `at` ends. */
  #findCurrent(key: string, at: Instant): OpenEpisode | null {
    const open = this.#open.get(key);
    if (open === undefined) return null;
    if (!isSilent(open.episode, at)) return open;
    this.#end(open, "gave_up", open.episode.lastAt);
    return null;
  }

  #isOpen(open: OpenEpisode): boolean {
    return this.#open.get(open.key) === open;
  }

  #markChanged(open: OpenEpisode): void {
    if (open.isChanged) return;
    open.isChanged = true;
    this.#changed.push(open);
  }

  #end({ key, episode, isCounted }: OpenEpisode, outcome: EpisodeOutcome, at: Instant): void {
    this.#open.delete(key);
    this.#ended.push({ ...episode, outcome, endedAt: at });
    this.counts.countEnd(episode, outcome, isCounted);
  }

  /** When the clock was set back, no episode is in its future. */
  #followClock(at: Instant): void {
    const isSetBack = at < this.#newestAt - CLOCK_TOLERANCE;
    if (isSetBack) {
      for (const { episode } of this.#open.values()) Object.assign(episode, notAfter(episode, at));
    }
    if (isSetBack || at > this.#newestAt) this.#newestAt = at;
  }
}

const entryOf = (episode: OpenEpisode["episode"]): [string, OpenEpisode] => {
  const key = demandKey(episode);
  return [key, { key, episode, isChanged: false, isCounted: false }];
};

function beginEpisode({ product, feature, user }: Demand, refusal: DemandRefusal): Episode {
  const { code, rule, peer, at, seq } = refusal;
  const times = { firstAt: at, lastAt: at, attempts: 1, firstSeq: seq, lastSeq: seq };
  return { product, feature, user, code, rule, peer, ...times };
}

/** Equal texts stay as they are, for the reason of `key`. */
function addToEpisode(episode: OpenEpisode["episode"], refusal: DemandRefusal): void {
  const { code, rule, peer, at, seq, attempts = 1 } = refusal;
  const isSame = episode.code === code && episode.rule === rule && episode.peer === peer;
  if (!isSame) episode.first ??= { code: episode.code, rule: episode.rule, peer: episode.peer };
  if (episode.code !== code) episode.code = code;
  if (episode.rule !== rule) episode.rule = rule;
  if (episode.peer !== peer) episode.peer = peer;
  episode.lastAt = at;
  episode.lastSeq = seq;
  episode.attempts += attempts;
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
