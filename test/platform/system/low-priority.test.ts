import { describe, expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { lowerPriority, sacrificeBeforeServer } from "../../../src/platform/system/low-priority.ts";

const readOomScore = (pid: number | "self"): number =>
  Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));

function startProcess(): number {
  const child = Bun.spawn(["sleep", "infinity"]);
  onTestFinished(() => child.kill("SIGKILL"));
  return child.pid;
}

describe.skipIf(process.platform !== "linux")("a process beside the server", () => {
  test("gives way to it, and is killed before it if memory runs out", () => {
    const own = readOomScore("self");
    const pid = startProcess();
    lowerPriority(pid);
    expect([getPriority(pid), readOomScore(pid)]).toEqual([10, Math.min(1_000, own + 500)]);
    expect(readOomScore("self")).toBe(own);
  });

  test("gets no higher score than the kernel accepts", () => {
    const pid = startProcess();
    for (let count = 0; count < 4; count += 1) sacrificeBeforeServer(pid);
    expect(readOomScore(pid)).toBe(1_000);
  });
});
