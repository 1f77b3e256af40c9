import { describe, expect, test } from "bun:test";
import { FullCheckSchedule } from "../../../src/cli/maintenance/full-check.ts";
import { DAY, instant, MINUTE } from "../../../src/domain/time.ts";
import { err, ok, type Result } from "../../../src/domain/result.ts";
import type { MaintenanceFault } from "../../../src/faults/fault-types.ts";
import type { DoctorReply } from "../../../src/http/running-server.ts";

const REPLY: DoctorReply = { worst_severity: null, findings: [], passed_checks: [] };

/** A schedule whose timers the test ends, and whose checks answer what the test sets. */
function makeSchedule() {
  const timers: { readonly delay: number; readonly work: () => void; isCancelled: boolean }[] = [];
  const clock = { now: 0 };
  let answer: Result<DoctorReply, MaintenanceFault> = ok(REPLY);
  let runs = 0;
  const schedule = new FullCheckSchedule({
    doctor: async () => {
      runs += 1;
      return answer;
    },
    now: () => instant(clock.now),
    schedule(work, delay) {
      const timer = { delay, work, isCancelled: false };
      timers.push(timer);
      return () => (timer.isCancelled = true);
    },
  });
  return {
    schedule,
    timers,
    clock,
    setAnswer: (value: typeof answer) => (answer = value),
    countRuns: () => runs,
    /** Ends the newest timer, and waits for the check. */
    async elapse(): Promise<void> {
      timers.at(-1)?.work();
      await Bun.sleep(0);
    },
  };
}

describe("FullCheckSchedule", () => {
  test("runs the checks five minutes after the start, and then once a day", async () => {
    const { schedule, timers, clock, countRuns, elapse } = makeSchedule();
    schedule.start();
    expect([timers.map(({ delay }) => delay), schedule.last]).toEqual([[5 * MINUTE], null]);
    clock.now = 7;
    await elapse();
    expect(schedule.last).toEqual({
      at: instant(7),
      report: { findings: [], passed: [] },
      failure: "",
    });
    await elapse();
    expect(timers.map(({ delay }) => delay)).toEqual([5 * MINUTE, DAY, DAY]);
    expect(countRuns()).toBe(2);
  });

  test("keeps why a check could not be run, and tries again after a day", async () => {
    const { schedule, timers, setAnswer, elapse } = makeSchedule();
    schedule.start();
    setAnswer(err({ code: "maintenance_failed", reason: "exit code 137" }));
    await elapse();
    expect(schedule.last?.report).toBeNull();
    expect(schedule.last?.failure).toContain("exit code 137");
    expect(timers.at(-1)?.delay).toBe(DAY);
  });

  test("keeps the last result when a check is cancelled", async () => {
    const { schedule, setAnswer } = makeSchedule();
    await schedule.run(new AbortController().signal);
    setAnswer(err({ code: "request_cancelled" }));
    await schedule.run(new AbortController().signal);
    expect(schedule.last?.report).not.toBeNull();
  });

  test("runs nothing after it was stopped", async () => {
    const { schedule, timers, elapse } = makeSchedule();
    schedule.start();
    schedule.stop();
    expect(timers[0]?.isCancelled).toBe(true);
    await elapse();
    expect(timers).toHaveLength(1);
  });
});
