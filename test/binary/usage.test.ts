import { expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import type { UsageReply } from "../../src/http/routes/usage.ts";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
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

const findPeak = ({ licenses }: UsageReply): number =>
  Math.max(...(licenses[0]?.in_use ?? []).map((count) => count ?? 0));

test("usage survives a stop and a kill, and berth usage prints it", async () => {
  const folder = join(tempFolder(), "data");
  const first = await startDemo(folder);
  for (const user of ["ada", "bob", "eve"]) {
    expect((await call(first.url, "register", user)).status).toBe(200);
  }
  for (const user of ["ada", "bob"]) await call(first.url, "unregister", user);
  expect((await call(first.url, "unregister", "nobody")).status).toBe(400);
  expect(await first.stop()).toBe(0);

  const second = await startDemo(folder);
  const read = await getUsage(second, "?wait=true");
  expect([read.complete, findPeak(read)]).toEqual([true, 3]);
  expect(read.refusals).toMatchObject([{ product: "DEMO", code: "user_not_registered" }]);
  expect((await call(second.url, "register", "dan")).status).toBe(200);
  const whileServed = await runBinary(["usage", "--data", folder]);
  expect([whileServed.code, whileServed.stderr]).toEqual([0, ""]);
  await second.kill();

  const afterKill = await runBinary(["usage", "--data", folder, "--range", "month"]);
  expect([afterKill.code, afterKill.stderr]).toEqual([0, ""]);
  const steps = ["5 minutes", "2 hours"];
  for (const [index, { stdout }] of [whileServed, afterKill].entries()) {
    expect(stdout.split("\n")[0]).toMatch(/^from \S+ to \S+, in steps of .+$/);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(
      `MEAN PEAK: the mean of the peaks of all steps of ${steps[index]} with data`,
    );
    const [, , head = "", row = "", , denied = "", refused = ""] = stdout.split("\n");
    expect(head.split(/ {2,}/).slice(0, 6)).toEqual([
      "PRODUCT",
      "LICENSE",
      "SLOTS",
      "PEAK",
      "MEAN PEAK",
      "NOW",
    ]);
    const [product, , slots, peak, mean, now] = row.split(/ {2,}/);
    expect([product, slots, peak, now]).toEqual(["DEMO", "5", "3", "2"]);
    // All data is within a few steps; earlier steps have no data and must not count as 0.
    expect(Number(mean)).toBeGreaterThanOrEqual(1);
    expect(Number(mean)).toBeLessThanOrEqual(3);
    expect(row).toMatch(/ {2}\| *[▁▂▃▄▅▆▇█]{1,2}\|$/);
    expect(denied).toBe("PRODUCT  REFUSED              TIMES");
    expect(refused).toBe("DEMO     user_not_registered  1");
  }
  const json = await runBinary(["usage", "--data", folder, "--json"]);
  const reply = JSON.parse(json.stdout) as UsageReply;
  expect([reply.range, reply.complete, findPeak(reply)]).toEqual(["day", true, 3]);
});

test("berth usage refuses an unknown --range", async () => {
  const { code, stderr } = await runBinary(["usage", "--data", tempFolder(), "--range", "year"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--range must be one of day, week, month");
});
