// Settings that are changed while the server runs: at once, over restarts, and against flags.
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBinary } from "../support/binary.ts";
import { runBerth } from "../support/run-berth.ts";
import { NETWORK_ADDRESS, RunningSite } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const set = (site: RunningSite, ...args: string[]) => site.runCommand(["config", "set", ...args]);

async function readStatus(site: RunningSite) {
  const { stdout } = await site.runCommand(["status", "--json"]);
  return JSON.parse(stdout) as { site_name: string; expiry_warning_days: number };
}

async function readConfig(site: RunningSite, ...flags: string[]) {
  const { stdout } = await site.runCommand(["config", "--json", ...flags]);
  return JSON.parse(stdout) as Record<string, { value: unknown; source: string }>;
}

test("berth config set applies at once, stays over a restart, and reset sets the default", async () => {
  const site = await RunningSite.open();
  const { stdout, code } = await set(site, "site_name", "Plant 4");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Plant 4") });
  await set(site, "expiry-warning-days", "90");
  expect(await readStatus(site)).toMatchObject({ site_name: "Plant 4", expiry_warning_days: 90 });
  await site.restart();
  expect(await readStatus(site)).toMatchObject({ site_name: "Plant 4", expiry_warning_days: 90 });
  expect((await readConfig(site))["site_name"]).toEqual({ value: "Plant 4", source: "page" });
  expect((await site.runCommand(["config", "reset", "expiry_warning_days"])).code).toBe(0);
  expect((await readStatus(site)).expiry_warning_days).toBe(30);
  await site.server.stop();
  // Without a server, the command reads what the server would use.
  expect((await readStatus(site)).site_name).toBe("Plant 4");
});

test("a flag has priority over a value of the page, which applies again without the flag", async () => {
  const site = await RunningSite.open();
  await set(site, "site_name", "Plant 4");
  await site.restart(["--site-name", "Flag"]);
  expect((await readStatus(site)).site_name).toBe("Flag");
  const refused = await set(site, "site_name", "Other");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("it is set by --site-name on the server's command line");
  expect((await readConfig(site, "--site-name", "Flag"))["site_name"]?.source).toBe("--site-name");
  await site.restart([]);
  expect((await readStatus(site)).site_name).toBe("Plant 4");
});

test("berth config warns of what the running server uses instead", async () => {
  const site = await RunningSite.open(["--site-name", "Flag"]);
  const listened = `the running server uses listen = `;
  const { code, stderr } = await site.runCommand(["config"]);
  expect(code).toBe(0);
  const warnings = stderr.trimEnd().split("\n");
  expect(warnings.filter((line) => !line.includes(listened))).toEqual([
    "berth: warning: the running server uses site_name = Flag, from --site-name",
  ]);
  await site.server.stop();
  expect((await site.runCommand(["config"])).stderr).toBe("");
});

test("a changed cap and changed networks apply to the next request", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 10 });
  const site = await RunningSite.open([], folder);
  const register = async (user: string, host?: string) =>
    (await site.post("/api/v4/register", { user }, {}, host)).status;
  expect(await register("a")).toBe(200);
  await set(site, "max_slots_per_peer", "1");
  expect(await register("b")).toBe(400);
  await set(site, "max_slots_per_peer", "0");
  expect(await register("b")).toBe(200);
  await set(site, "client_networks", "203.0.113.0/24");
  expect(await register("c")).toBe(403);
  if (NETWORK_ADDRESS !== null) expect(await register("c", NETWORK_ADDRESS)).toBe(403);
  await site.runCommand(["config", "reset", "client_networks"]);
  expect(await register("c")).toBe(200);
});

test("a wrong value or name is refused with a hint, and no file is written", async () => {
  const site = await RunningSite.open();
  const wrong = await set(site, "expiry_warning_days", "400");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("expiry_warning_days must be a number of days from 1 to 365");
  expect(wrong.stderr).toContain("for example 30");
  const unknown = await set(site, "sitename", "x");
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("mean site_name?") });
  expect((await set(site, "site_name")).code).toBe(2);
  expect(existsSync(join(site.folder, "settings.json"))).toBe(false);
  await site.server.stop();
  const stopped = await set(site, "site_name", "x");
  expect(stopped.code).toBe(1);
  expect(stopped.stderr).toContain("no server is running on this data folder");
});

test("a damaged settings.json stops the start with exit code 78, and is left as it is", async () => {
  const site = await RunningSite.open();
  await set(site, "site_name", "Plant 4");
  await site.server.stop();
  const path = join(site.folder, "settings.json");
  writeFileSync(path, '{"settings": 1, "values": {"site_name": ');
  const args = ["serve", "--data", site.folder, "--listen", "127.0.0.1:0"];
  const { code, stderr } = await runBinary(args);
  expect(code).toBe(78);
  expect(stderr).toContain(`${path} is damaged`);
  expect(stderr).toContain("correct it, or delete it");
  expect((await runBerth(["config", "--data", site.folder])).code).toBe(78);
  expect((await runBerth(["status", "--data", site.folder])).stderr).toContain("is damaged");
});
