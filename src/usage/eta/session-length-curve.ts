/** What is known of the sessions of a product. All lengths are in milliseconds. */
export interface KnownSessions {
  /** Lengths of sessions that have ended, the shortest first. */
  readonly ended: readonly number[];
  /** How many sessions have ended: `ended` may be a sample of them. */
  readonly endedCount: number;
  /** How long sessions that have not ended last already, the shortest first. */
  readonly running: readonly number[];
  /** How many sessions have not ended: `running` may be a sample of them. */
  readonly runningCount: number;
}

/** Beyond the longest known session, the share of sessions falls with this power of the length. */
const TAIL_POWER = 2;

/**
 * The share of sessions that last longer than a time. It is the estimate of Kaplan and Meier:
 * sessions that still run count for the time that they have lasted, so a site where long sessions
 * have not ended yet does not look like a site of short ones.
 */
export class SessionLengthCurve {
  readonly #lengths: Float64Array;
  /** The share of sessions that last longer than the length with the same index. */
  readonly #shares: Float64Array;

  constructor({ ended, endedCount, running, runningCount }: KnownSessions) {
    const endedWeight = endedCount / Math.max(1, ended.length);
    const runningWeight = runningCount / Math.max(1, running.length);
    const total = endedCount + runningCount;
    const [lengths, shares] = [[0], [1]];
    let [share, atRisk, nextRunning] = [1, total, 0];
    for (let index = 0; index < ended.length;) {
      const length = ended[index] ?? 0;
      while ((running[nextRunning] ?? Infinity) < length) {
        atRisk -= runningWeight;
        nextRunning += 1;
      }
      let endedNow = 0;
      for (; ended[index] === length; index += 1) endedNow += endedWeight;
      share *= Math.max(0, 1 - endedNow / Math.max(endedNow, atRisk));
      atRisk -= endedNow;
      lengths.push(Math.max(length, 1));
      // As if one more session lasted longer than all: a longer one is always possible.
      shares.push((share * total + 1) / (total + 1));
    }
    const longest = running.at(-1) ?? 0;
    if (longest > (lengths.at(-1) ?? 0)) {
      lengths.push(longest);
      shares.push(shares.at(-1) ?? 1);
    }
    this.#lengths = Float64Array.from(lengths);
    this.#shares = Float64Array.from(shares);
  }

  /** The share of sessions that last longer than `length`. */
  shareLongerThan(length: number): number {
    const [lengths, shares] = [this.#lengths, this.#shares];
    const last = lengths.length - 1;
    const longest = lengths[last] ?? 0;
    if (length >= longest) {
      return (shares[last] ?? 1) * (Math.max(longest, 1) / Math.max(length, 1)) ** TAIL_POWER;
    }
    let [low, high] = [0, last];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((lengths[middle] ?? 0) <= length) low = middle;
      else high = middle;
    }
    const [from, to] = [lengths[low] ?? 0, lengths[high] ?? 0];
    const [before, after] = [shares[low] ?? 1, shares[high] ?? 0];
    return before + ((after - before) * (length - from)) / Math.max(to - from, 1e-9);
  }

  /** The probability that a session which lasts `elapsed` already ends within `time` more. */
  endsWithin(elapsed: number, time: number): number {
    return 1 - this.shareLongerThan(elapsed + time) / this.shareLongerThan(elapsed);
  }

  /** The mean length, without the tail beyond the longest known session. */
  get meanLength(): number {
    let mean = 0;
    for (let index = 1; index < this.#lengths.length; index += 1) {
      const width = (this.#lengths[index] ?? 0) - (this.#lengths[index - 1] ?? 0);
      mean += (width * ((this.#shares[index] ?? 0) + (this.#shares[index - 1] ?? 0))) / 2;
    }
    return Math.max(1, mean);
  }

  /** The standard deviation of lengths divided by their mean. */
  get variation(): number {
    const mean = this.meanLength;
    let square = 0;
    for (let index = 1; index < this.#lengths.length; index += 1) {
      const [from, to] = [this.#lengths[index - 1] ?? 0, this.#lengths[index] ?? 0];
      square += ((this.#shares[index - 1] ?? 0) - (this.#shares[index] ?? 0)) * from * to;
    }
    square += (this.#shares.at(-1) ?? 0) * (this.#lengths.at(-1) ?? 0) ** 2;
    return Math.sqrt(Math.max(0, square / mean ** 2 - 1));
  }
}
