import { onTestFinished, spyOn } from "bun:test";

/** Makes each step of work between requests end after its first piece, until the test has ended. */
export function useShortSteps(): void {
  let now = performance.now();
  const clock = spyOn(performance, "now").mockImplementation(() => (now += 10));
  onTestFinished(() => clock.mockRestore());
}
