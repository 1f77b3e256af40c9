// The server is killed while it stops: at any point of its last checkpoint, and often between the
// checkpoint and the usage files. Every counted consumption must be in the usage exactly once.
import { expect, onTestFinished, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { UsageReply } from "../../src/http/routes/usage/usage.ts";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { chooseSize } from "../support/suite-harness.ts";

const ROUNDS = chooseSize(8, 12);

async function startDemo(folder: string): Promise<ServerProcess> {
  const server = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  return server;
}

async function consume({ url }: ServerProcess, count: number): Promise<void> {
  const reply = await fetch(`${url}/api/v4/add_consumption`, {
    method: "POST",
    body: JSON.stringify({ product: "DEMO", consumptions: String(count) }),
    headers: { "content-type": "application/json" },
  });
  expect([reply.status, count]).toEqual([200, count]);
}

async function countConsumed(folder: string): Promise<number> {
  const { stdout, stderr } = await runBinary(["usage", "--data", folder, "--json"]);
  expect(stderr).toBe("");
  const { pools } = JSON.parse(stdout) as UsageReply;
  const pool = pools.find(({ product, feature }) => product === "DEMO" && feature === null);
  return (pool?.consumed ?? []).reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

test("usage counts everything once, however often the server is killed at a checkpoint", async () => {
  const folder = join(tempFolder(), "data");
  const random = new SeededRandom(19);
  let total = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const server = await startDemo(folder);
    await consume(server, round);
    total += round;
    expect(await countConsumed(folder)).toBe(total);
    server.signal("SIGTERM");
    await Bun.sleep(random.intBelow(400));
    await server.kill();
  }
  expect(await countConsumed(folder)).toBe(total);
  expect(existsSync(join(folder, "usage", "position.json"))).toBe(true);
  const rebuilt = await runBinary(["usage", "rebuild", "--data", folder]);
  expect([rebuilt.code, rebuilt.stderr]).toEqual([0, ""]);
  expect(rebuilt.stdout).toMatch(/^usage from \S+ until \S+ is computed again, up to line \d+ of /);
  expect(await countConsumed(folder)).toBe(total);
});
