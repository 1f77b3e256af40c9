import { PATIENCE } from "./patience.ts";

type Condition = () => boolean | Promise<boolean>;

interface Waiting {
  /** How long to wait at most, in milliseconds. */
  readonly patience?: number;
  /** The pause between two attempts, in milliseconds. */
  readonly pause?: number;
}

/** Tries a condition again and again until it holds; false: it never did. */
export async function isEventuallyTrue(
  holds: Condition,
  { patience = PATIENCE, pause = 2 }: Waiting = {},
): Promise<boolean> {
  // Not `performance.now`, which tests replace.
  const deadline = Bun.nanoseconds() + patience * 1_000_000;
  while (!(await holds())) {
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
