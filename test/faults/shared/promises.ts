// What a fault suite demands. A broken promise is reported with an error class of its own, because
// it is the result that planted bugs must lead to: a suite that fails in any other way has crashed.
import { test } from "bun:test";

export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** How many violations of a promise are printed; the others are only counted. */
const MAX_PRINTED = 5;
const MAX_LENGTH = 2_000;

/** Throws if a promise was broken, with the first violations. */
export function expectKept(violations: readonly string[]): void {
  if (violations.length === 0) return;
  const printed = violations.slice(0, MAX_PRINTED).map((text) => text.slice(0, MAX_LENGTH));
  throw new BrokenPromise([`violated ${violations.length} times`, ...printed].join("\n         "));
}

/** Throws if a promise does not hold; the details say what was found instead. */
export function expectPromise(holds: boolean, details: unknown = ""): void {
  if (holds) return;
  const text = typeof details === "string" ? details : JSON.stringify(details);
  throw new BrokenPromise(text.slice(0, MAX_LENGTH));
}

/** One test for each promise: it fails if the promise was broken in the run before the tests. */
export function testPromises<P extends string>(
  promises: Readonly<Record<P, string>>,
  violationsOf: (promise: P) => readonly string[],
): void {
  for (const [promise, title] of Object.entries(promises) as [P, string][]) {
    test(title, () => expectKept(violationsOf(promise)));
  }
}
