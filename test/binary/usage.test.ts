import { expect, onTestFinished, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import type { UsageReply } from "../../src/http/routes/usage/usage.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { runBerth } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function startDemo(folder: string): Promise<ServerProcess> {
  const server = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  return server;
}

async function getUsage({ url }: ServerProcess, query: string): Promise<UsageReply> {
  const response = await fetch(`${url}/api/admin/v1/usage${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as UsageReply;
}

const call = (url: string, path: string, user: string): Promise<Response> =>
  fetch(`${url}/api/v4/${path}`, {
    method: "POST",
    body: JSON.stringify({ user, product: "DEMO" }),
    headers: { "content-type": "application/json" },
  });

const findPeak = ({ pools }: UsageReply): number =>
  Math.max(...(pools[0]?.peak ?? []).map((count) => count ?? 0));

test("usage survives a stop and a kill, and berth usage prints it", async () => {
  const folder = join(tempFolder(), "data");
  const first = await startDemo(folder);
  for (const user of ["ada", "bob", "eve"]) {
    expect((await call(first.url, "register", user)).status).toBe(200);
  }
  // Slots that are held for less than a millisecond are not counted.
  await Bun.sleep(20);
  for (const user of ["ada", "bob"]) await call(first.url, "unregister", user);
  expect(await first.stop()).toBe(0);
  expect(readdirSync(join(folder, "usage")).toSorted()).toEqual([
    expect.stringMatching(/^\d{4}-\d{2}-1\.jsonl$/),
    expect.stringMatching(/^lines-\d{4}-\d{2}-2\.jsonl$/),
    "lock",
    "position.json",
  ]);

  const second = await startDemo(folder);
  expect(findPeak(await getUsage(second, ""))).toBe(3);
  expect((await call(second.url, "register", "dan")).status).toBe(200);
  const whileServed = await runBerth(["usage", "--data", folder]);
  expect([whileServed.code, whileServed.stderr]).toEqual([0, ""]);
  await second.kill();

  const afterKill = await runBerth(["usage", "--data", folder, "--range", "month"]);
  expect([afterKill.code, afterKill.stderr]).toEqual([0, ""]);
  for (const { stdout } of [whileServed, afterKill]) {
    expect(stdout.split("\n")[0]).toMatch(/^from \S+ to \S+, in steps of .+$/);
    const [, , head = "", row = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/).slice(0, 8)).toEqual([
      "PRODUCT",
      "FEATURE",
      "SLOTS",
      "PEAK",
      "MEAN",
      "HOURS FULL",
      "WAITING",
      "DENIED",
    ]);
    const [product, feature, slots, peak, , , waiting, denied] = row.split(/ {2,}/);
    expect([product, feature, slots, peak]).toEqual(["DEMO", "-", "5", "3"]);
    expect([waiting, denied]).toEqual(["0", "0"]);
    expect(row).toMatch(/ {2}\| *[▁▂▃▄▅▆▇█]{1,2}\|$/);
  }
  const json = await runBerth(["usage", "--data", folder, "--json"]);
  const reply = JSON.parse(json.stdout) as UsageReply;
  expect([reply.range, findPeak(reply)]).toEqual(["day", 3]);
});

test("usage files that end before the last checkpoint are a finding of the next start", async () => {
  const folder = join(tempFolder(), "data");
  const position = join(folder, "usage", "position.json");
  let before = "";
  for (const user of ["ada", "bob"]) {
    const server = await startDemo(folder);
    await call(server.url, "register", user);
    expect(await server.stop()).toBe(0);
    before ||= readFileSync(position, "utf8");
  }
  // As after an update that failed.
  writeFileSync(position, before);
  await startDemo(folder);
  const status = await runBerth(["status", "--data", folder, "--json"]);
  const { findings } = JSON.parse(status.stdout) as StatusReply;
  expect(findings).toContainEqual(
    expect.objectContaining({
      code: "usage_failing",
      summary: expect.stringContaining("the usage files end at line"),
    }),
  );
});

test("berth usage refuses an unknown --range", async () => {
  const { code, stderr } = await runBerth(["usage", "--data", tempFolder(), "--range", "decade"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--range must be one of day, week, month, quarter, year, 18months");
});
