import { onTestFinished, spyOn } from "bun:test";

/** Stops the monotonic clock of the process until the end of the test, which sets it. */
export function holdProcessClock(): { ms: number } {
  const clock = { ms: Math.round(performance.now()) };
  const replaced = spyOn(performance, "now").mockImplementation(() => clock.ms);
  onTestFinished(() => replaced.mockRestore());
  return clock;
}
