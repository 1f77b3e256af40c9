import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { LeadershipProblem } from "../../../src/operations/pair/leadership-problem.ts";
import { log } from "../../../src/platform/log.ts";
import { CannotFollow } from "../../../src/store/log/log-refusals.ts";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";
import { StorageError } from "../../../src/store/journal/storage-fault.ts";

describe("a problem of the leadership", () => {
  let lines: unknown[][] = [];
  const captureLine = (...line: unknown[]): void => void lines.push(line);

  beforeEach(() => {
    lines = [];
    for (const level of ["info", "warn", "error"] as const)
      spyOn(log, level).mockImplementation(captureLine);
  });

  afterEach(() => {
    for (const level of ["info", "warn", "error"] as const) spyOn(log, level).mockRestore();
  });

  test("is logged once a minute while the database is away for an hour", () => {
    let now = 0;
    const problem = new LeadershipProblem(() => now);
    for (let step = 0; step < 18_000; step += 1, now += 200)
      problem.note(new LogUnavailable(step % 2 === 0 ? "no answer" : "connection refused"));
    expect(lines.length).toBeWithin(2, 61);
    expect(problem).toMatchObject({ text: "connection refused", isLogAway: true });
    problem.end();
    expect(lines.at(-1)).toEqual(["the log of the pair can be used again"]);
    expect(problem).toMatchObject({ text: null, isLogAway: false });
  });

  test("is logged once if it does not change", () => {
    let now = 0;
    const problem = new LeadershipProblem(() => now);
    for (; now < 3_600_000; now += 10_000) problem.note(new LogUnavailable("no answer"));
    expect(lines).toEqual([["the log of the pair cannot be used", { problem: "no answer" }]]);
  });

  test("that comes and goes does not fill the log", () => {
    let now = 0;
    const problem = new LeadershipProblem(() => now);
    for (; now < 60_000; now += 400) {
      problem.note(new LogUnavailable("no answer"));
      problem.end();
    }
    expect(lines).toHaveLength(2);
  });

  test("of another kind is logged at once, with what to do", () => {
    const problem = new LeadershipProblem(() => 0);
    problem.note(new LogUnavailable("no answer"));
    problem.note(new CannotFollow("the database lost lines", "bring it back"));
    const fields = { problem: "the database lost lines", hint: "bring it back" };
    expect(lines.at(-1)).toEqual(["this host can neither lead nor follow", fields]);
    problem.end();
    expect(lines.at(-1)).toEqual(["this host can lead and follow again"]);
  });

  test("of the disk is described in words", () => {
    const problem = new LeadershipProblem(() => 0);
    problem.note(new StorageError({ code: "storage_full" }, null));
    expect(problem.text).toStartWith("the disk of this host is full");
    problem.note(new StorageError({ code: "standby" }, null));
    expect(problem.text).toBe("standby");
  });

  test("that is a bug is logged with its stack", () => {
    const problem = new LeadershipProblem(() => 0);
    const error = new TypeError("a bug");
    problem.note(error);
    expect(lines[0]?.[1]).toEqual({ problem: "a bug", error });
  });
});
