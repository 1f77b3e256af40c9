import { setImmediate } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a piece of work that takes a few milliseconds, after all pieces queued before it. Requests
 * are served between two pieces, so no request waits for more than one.
 */
export function runBetweenRequests<T>(work: () => T): Promise<T> {
  const result = last.then(work);
  last = result.catch(() => null).then(() => setImmediate());
  return result;
}
