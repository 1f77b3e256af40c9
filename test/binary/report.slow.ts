import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { runBinary } from "../support/binary.ts";
import { RunningSite } from "../support/running-site.ts";
import { writeSimulatedMonth } from "../support/simulated-month.ts";
import { tempFolder } from "../support/temp-folder.ts";

describe("the reports of a month", () => {
  test("are the same from a running server and from its folder", async () => {
    const folder = join(tempFolder(), "data");
    await writeSimulatedMonth({ folder });
    // A period that is over: nothing in it changes any more.
    const yesterday = Temporal.Now.plainDateISO("UTC").subtract({ days: 1 });
    const period = ["--from", String(yesterday.subtract({ days: 20 })), "--to", String(yesterday)];
    const run = async (...args: readonly string[]): Promise<string> => {
      const flags = ["--data", folder, ...period, "--time-zone", "UTC"];
      const { code, stdout, stderr } = await runBinary([...args, ...flags]);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    const whatIf = ["report", "what-if", "--product", "CAD", "--slots", "8..40"];
    const stopped = [await run("report", "--table", "days"), await run(...whatIf)];
    const site = await RunningSite.open([], folder);
    const running = [await run("report", "--table", "days"), await run(...whatIf)];
    expect(running).toEqual(stopped);
    expect(stopped[1]).toMatch(/for 99 % of needs met at once: \d+ slots/);
    const [, reproduced, refusals] = /decide (\d+) of (\d+) refusals/.exec(stopped[1] ?? "") ?? [];
    expect(reproduced).toBe(refusals ?? "");
    expect(Number(refusals)).toBeGreaterThan(50);
    expect(site.folder).toBe(folder);
  });
});
