import { onTestFinished, spyOn } from "bun:test";
import { log } from "../../src/platform/log.ts";

/** Each change of the leader is logged, and a simulation has thousands of them. */
export function silenceLog(): void {
  for (const level of ["info", "warn"] as const) {
    const spy = spyOn(log, level).mockImplementation(() => {});
    onTestFinished(() => spy.mockRestore());
  }
}
