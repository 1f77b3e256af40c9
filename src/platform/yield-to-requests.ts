import { setImmediate } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/**
 * Does a piece of work that takes a few milliseconds, after whatever else was to be done like this,
 * and lets others be answered before the next: however many ask for such work, nobody else waits
 * for more than one piece of it.
 */
export function runBetweenRequests<T>(work: () => T): Promise<T> {
  const done = last.then(work);
  last = done.catch(() => null).then(() => setImmediate());
  return done;
}
