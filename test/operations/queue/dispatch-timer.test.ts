import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { DispatchTimer } from "../../../src/operations/queue/dispatch-timer.ts";

/** A timer whose plans are recorded, and never run. */
function recordDelays(): { readonly timer: DispatchTimer; readonly delays: unknown[] } {
  const delays: unknown[] = [];
  const real = globalThis.setTimeout;
  const spy = spyOn(globalThis, "setTimeout").mockImplementation(((
    _run: () => void,
    delay: number,
  ) => {
    delays.push(delay);
    return real(() => {}, 0);
  }) as unknown as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return { timer: new DispatchTimer(() => {}), delays };
}

describe("the timer of dispatches", () => {
  test("runs earlier if an earlier time is planned", () => {
    const { timer, delays } = recordDelays();
    timer.plan(5_000);
    timer.plan(100);
    expect(delays).toEqual([5_000, 100]);
  });

  test("keeps an earlier plan when a later time is planned", () => {
    const { timer, delays } = recordDelays();
    timer.plan(100);
    timer.plan(5_000);
    expect(delays).toEqual([100]);
  });

  test("waits 10 seconds at most, however far away the planned time is", () => {
    const { timer, delays } = recordDelays();
    timer.plan(Number.MAX_SAFE_INTEGER);
    expect(delays).toEqual([10_000]);
  });

  test("waits for a millisecond if the planned time has passed", () => {
    const { timer, delays } = recordDelays();
    timer.plan(-5_000);
    expect(delays).toEqual([1]);
  });

  test("forgets its plan when nothing is to be done", () => {
    const { timer, delays } = recordDelays();
    timer.plan(100);
    timer.plan(Infinity);
    timer.plan(200);
    expect(delays).toEqual([100, 200]);
  });
});
