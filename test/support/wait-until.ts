import { PATIENCE } from "./patience.ts";

type Condition = () => boolean | Promise<boolean>;

interface Waiting {
  /** How long to wait at most, in milliseconds. */
  readonly patience?: number;
  /** The longest pause between two attempts, in milliseconds; the first ones are shorter. */
  readonly maxPause?: number;
}

/** Tries a condition again and again until it holds; false: it never did. */
export async function isEventuallyTrue(
  holds: Condition,
  { patience = PATIENCE, maxPause = 5 }: Waiting = {},
): Promise<boolean> {
  // Not `performance.now`, which tests replace.
  const deadline = Bun.nanoseconds() + patience * 1_000_000;
  for (let pause = 1; !(await holds()); pause = Math.min(2 * pause, maxPause)) {
    if (Bun.nanoseconds() > deadline) return false;
    await Bun.sleep(pause);
  }
  return true;
}

/** Waits until a condition holds; if it never does, the error shows the condition. */
export async function waitUntil(
  holds: Condition,
  description = holds.toString(),
  waiting?: Waiting,
): Promise<void> {
  if (await isEventuallyTrue(holds, waiting)) return;
  throw new Error(`timed out waiting for: ${description}`);
}
