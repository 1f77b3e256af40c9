// The exchange of a usage statement with the executable: a site with three days of use, and a desk.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DAY, HOUR, later } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import { openDeskAndSite } from "../support/desk-and-site.ts";
import { installLicense } from "../support/reporting-site.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runBinary(args);
  if (code !== 0) throw new Error(`berth ${args.join(" ")}: exit ${code}: ${stderr}`);
  return stdout;
}

const runJson = async <T>(...args: string[]): Promise<T> =>
  JSON.parse(await run(...args, "--json")) as T;

/** Two people used a license three days ago. The folder is closed. */
async function makeUsedSite() {
  const opened = await openDeskAndSite();
  const { site, folder: desk } = opened;
  site.clock.now = later(wallClock(), -3 * DAY);
  const terms = { customer: "Initech", slots: 2, timeout_minutes: 60, report_every_days: 2 };
  const license = await installLicense(opened, "sim", terms);
  for (const user of ["ada", "bob"]) await site.register({ user, product: "sim" });
  await site.stop();
  return { desk, data: site.folder, license };
}

test("a statement is made, survives a kill, is received, shown and acknowledged", async () => {
  const { desk, data, license } = await makeUsedSite();
  const folder = tempFolder();
  const path = (name: string): string => join(folder, name);
  const read = (name: string): string => readFileSync(path(name), "utf8").trim();

  const server = await startBinary("serve", "--data", data, "--listen", "127.0.0.1:0");
  const status = await run("status", "--data", data);
  expect(status).toContain("wants a usage statement every 2 days");
  const { document } = await runJson<{ document: string }>("usage", "statement", "--data", data);
  // The command's file is lost, and so is everything that the server has only in memory.
  await server.kill();

  // Not simply the last one: a day may end while this runs.
  const first = ["usage", "statement", "--number", "1", "--data", data];
  await run(...first, "--out", path("statement.jwt"));
  expect(read("statement.jwt")).toBe(document);
  await run("vendor", "receive", path("statement.jwt"), "--dir", desk, "--out", path("ack.jwt"));
  await run("vendor", "receive", path("statement.jwt"), "--dir", desk, "--out", path("again.jwt"));
  expect(read("again.jwt")).toBe(read("ack.jwt"));
  const inspected = await run("vendor", "inspect", path("ack.jwt"), "--dir", desk);
  expect(inspected).toContain("ack: verified, signed by");
  expect(await run("vendor", "inspect", path("statement.jwt"), "--dir", desk)).toContain(
    "usage: verified, signed by",
  );

  const days = await runJson<Record<string, unknown>[]>("vendor", "usage", "--dir", desk);
  const minutes = days.map(({ slot_minutes }) => slot_minutes as number);
  expect(minutes.reduce((sum, value) => sum + value, 0)).toBe((2 * HOUR) / 60_000);
  expect(days[0]).toMatchObject({ customer: "Initech", license_id: license, peak: 2, people: 2 });
  expect(await run("vendor", "usage", "--dir", desk)).toContain(" MOST PEOPLE A DAY ");
  expect(await run("vendor", "usage", "--dir", desk, "--csv")).toStartWith(
    "customer,appliance,statement,license_id,product,feature,day,peak,slot_minutes",
  );

  expect(await run("usage", "acknowledge", path("ack.jwt"), "--data", data)).toBe(
    "statement 1 is acknowledged\n",
  );
  expect(await run("usage", "acknowledge", path("ack.jwt"), "--data", data)).toBe(
    "nothing changed: statement 1 is already acknowledged\n",
  );
  expect(await run("usage", "statements", "--data", data)).toMatch(/\n1 +\S+ +\S+ +\S+ +yes/);
  expect(await run("status", "--data", data)).not.toContain("wants a usage statement");
  expect((await runBinary(["vendor", "verify", "--dir", desk])).code).toBe(0);
}, 60_000);

test("a foreign statement, acknowledgement or vendor is refused with exit code 1", async () => {
  const { desk, data } = await makeUsedSite();
  const other = await makeUsedSite();
  const file = join(tempFolder(), "statement.jwt");
  const ack = join(tempFolder(), "ack.jwt");
  await run("usage", "statement", "--data", data, "--out", file);
  const again = await runBinary(["usage", "statement", "--data", data, "--out", file]);
  expect([again.code, again.stdout]).toEqual([1, ""]);
  expect(again.stderr).toContain("already exists");
  const foreign = await runBinary(["vendor", "receive", file, "--dir", other.desk]);
  expect([foreign.code, foreign.stdout]).toEqual([1, ""]);
  expect(foreign.stderr).toContain("the statement is for another vendor");
  await run("vendor", "receive", file, "--dir", desk, "--out", ack);
  const refused = await runBinary(["usage", "acknowledge", ack, "--data", other.data]);
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("berth: error: ");
  const unknown = await runBinary(["usage", "statement", "--data", data, "--vendor", "Nobody"]);
  expect([unknown.code, unknown.stdout]).toEqual([1, ""]);
}, 60_000);

test("after a restore, the lost statement is found at the site and at the desk", async () => {
  const { desk, data } = await makeUsedSite();
  const folder = tempFolder();
  const path = (name: string): string => join(folder, name);
  await run("backup", path("site.berth"), "--data", data);
  await run("usage", "statement", "--data", data, "--out", path("lost.jwt"));
  await run("vendor", "receive", path("lost.jwt"), "--dir", desk, "--out", path("ack.jwt"));
  await run("restore", path("site.berth"), "--data", data, "--accept-loss");

  const refused = await runBinary(["usage", "acknowledge", path("ack.jwt"), "--data", data]);
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain(
    "a statement 1 that this server did not make; a backup was restored on",
  );

  await run("usage", "statement", "--data", data, "--out", path("again.jwt"));
  const forked = await runBinary(["vendor", "receive", path("again.jwt"), "--dir", desk]);
  expect([forked.code, forked.stdout]).toEqual([1, ""]);
  expect(forked.stderr).toContain("another statement 1 of this appliance was received on");
  expect(forked.stderr).toContain("the site restored a backup on");
  const accept = ["--accept-fork", "the disk failed", "--out", path("new-ack.jwt")];
  await run("vendor", "receive", path("again.jwt"), "--dir", desk, ...accept);
  expect(await run("usage", "acknowledge", path("new-ack.jwt"), "--data", data)).toBe(
    "statement 1 is acknowledged\n",
  );
}, 60_000);

test("after a move, the old host makes no statement and the new one does", async () => {
  const { data } = await makeUsedSite();
  const folder = tempFolder();
  const moved = join(folder, "moved");
  await run("move", "out", join(folder, "site.berth"), "--data", data, "--yes");
  const refused = await runBinary(["usage", "statement", "--data", data]);
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("moved to another host");
  await run("move", "in", join(folder, "site.berth"), "--data", moved);
  const made = await runJson<{ number: number }>("usage", "statement", "--data", moved);
  expect(made.number).toBe(1);
}, 60_000);
