import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BackupsReply } from "../../src/http/routes/backups/backups.ts";
import { HOUR, instant } from "../../src/domain/time.ts";
import { makeStoredBackup } from "../../src/operations/backups/backup-folder.ts";
import { folderChecks } from "../../src/operations/folder/folder-checks.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { runBinary } from "../support/binary.ts";
import {
  callAdmin,
  getAdminJson,
  listChildProcesses,
  register,
  registerUsers,
  serveSite,
  type ServedSite,
} from "../support/served-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { SmallDisk } from "../faults/disk-full/small-disk.ts";
import { cleanUp } from "../support/suite-harness.ts";
import { startSuspendedJob } from "../support/suspended-job.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

async function makeSite(folder = join(tempFolder(), "data")): Promise<string> {
  await makeLicensedSite(folder, { product: "cad", slots: 10 });
  return folder;
}

const listBackups = (site: ServedSite): Promise<BackupsReply> =>
  getAdminJson<BackupsReply>(site, "/backups");

const backUpNow = (site: ServedSite): Promise<Response> => callAdmin(site, "POST", "/backups");

const isFinished = (name: string): boolean => name.endsWith(".berth");

describe("a running server", () => {
  test("makes up a missed backup, removes those that are too many, and restores from it", async () => {
    const folder = await makeSite();
    const directory = join(folder, "backups");
    const options = { dataFolder: folder, directory, keep: 7, checks: folderChecks };
    for (const hours of [5, 4, 3]) {
      const now = instant(Date.now() - hours * HOUR);
      await makeStoredBackup(realDisk, { ...options, now });
    }
    const leftover = join(directory, `${readdirSync(directory)[0]}.0123456789abcdef.new`);
    writeFileSync(leftover, "half");
    const old = new Set(readdirSync(directory));
    const site = await serveSite(["--backup-schedule", "hourly", "--backup-keep", "2"], folder);
    await waitUntil(
      () =>
        readdirSync(directory)
          .filter((name) => !old.has(name))
          .some(isFinished),
      "the missed backup is made",
    );
    await waitUntil(
      async () => (await listBackups(site)).running_since === null,
      "the server knows of it",
    );
    const { backups, next_at, newest_at, last_fault } = await listBackups(site);
    expect(backups.map(({ verified }) => verified)).toEqual([true, true]);
    expect(backups[0]?.made_at).toBe(newest_at ?? "");
    expect(Date.parse(next_at ?? "") - Date.parse(newest_at ?? "")).toBeLessThanOrEqual(HOUR);
    expect(last_fault).toBeNull();
    expect(readdirSync(directory).toSorted()).toEqual(backups.map(({ name }) => name).toSorted());
    await site.server.stop();
    const newest = join(directory, backups[0]?.name ?? "");
    const restored = await runBinary(["restore", newest, "--data", folder, "--json"]);
    expect([restored.code, JSON.parse(restored.stdout)]).toMatchObject([
      0,
      { ok: true, path: folder },
    ]);
    expect(existsSync(newest)).toBe(true);
  });
});

const disk = SmallDisk.mount(48);
afterAll(cleanUp);

describe.skipIf(typeof disk === "string")("on a full disk", () => {
  const folder = typeof disk === "string" ? "" : disk.folder;
  const fill = (pagesLeft: number): void => {
    if (typeof disk !== "string") disk.fill(pagesLeft);
  };
  const empty = (): void => {
    if (typeof disk !== "string") disk.removeBallast();
  };

  async function expectRefused(site: ServedSite): Promise<void> {
    const response = await backUpNow(site);
    const { message } = (await response.json()) as { message: string };
    expect([response.status, message]).toEqual([
      503,
      expect.stringMatching(/^the operation failed: a backup needs .* MiB are free; free space/),
    ]);
    const { last_fault, running_since } = await listBackups(site);
    expect([last_fault?.message, running_since]).toEqual([message, null]);
  }

  test("a backup is refused, keeps older ones, and leaves the space to the server", async () => {
    const site = await serveSite(["--backup-keep", "1"], await makeSite(join(folder, "data")));
    expect((await backUpNow(site)).status).toBe(200);
    const directory = join(site.folder, "backups");
    const before = contentsOf(directory);
    // Enough for a backup and for the journal, but not for a checkpoint after it.
    fill(2_000);
    await expectRefused(site);
    expect(contentsOf(directory)).toEqual(before);
    await register(site, "ada");
    empty();
    expect((await backUpNow(site)).status).toBe(200);
    expect(readdirSync(directory).length).toBe(1);
    await site.server.stop();
  });

  test("another one for backups than for the data keeps older backups", async () => {
    const directory = join(folder, "copies");
    mkdirSync(directory);
    const site = await serveSite(["--backup-keep", "1", "--backup-dir", directory]);
    expect((await backUpNow(site)).status).toBe(200);
    expect((await listBackups(site)).is_same_disk).toBe(false);
    const before = contentsOf(directory);
    fill(1);
    await expectRefused(site);
    expect(contentsOf(directory)).toEqual(before);
    empty();
    expect((await backUpNow(site)).status).toBe(200);
    expect((await listBackups(site)).last_fault).toBeNull();
  });
});

describe("a backup that is interrupted", () => {
  /** A site with one backup, and a second one that is suspended while it is written. */
  async function openInterruptedSite() {
    const site = await serveSite(["--backup-keep", "1"]);
    await registerUsers(site, 1_000);
    expect((await backUpNow(site)).status).toBe(200);
    const directory = join(site.folder, "backups");
    const first = contentsOf(directory);
    const hasUnfinished = (): boolean => readdirSync(directory).some((name) => !isFinished(name));
    const job = await startSuspendedJob(site, () => backUpNow(site), hasUnfinished);
    return { ...site, ...job, directory, first, hasUnfinished };
  }

  test("with the server keeps the backup before it, and the next one removes the rest", async () => {
    const { server, folder, reply, resume, hasEnded, directory, first, hasUnfinished } =
      await openInterruptedSite();
    await server.kill();
    expect(await reply.catch(() => "gone")).toBe("gone");
    expect(hasUnfinished()).toBe(true);
    expect(contentsOf(directory)).toMatchObject(first);
    const again = await serveSite(["--backup-keep", "2"], folder);
    expect((await listBackups(again)).backups.length).toBe(1);
    expect((await backUpNow(again)).status).toBe(200);
    expect(contentsOf(directory)).toMatchObject(first);
    expect([hasUnfinished(), readdirSync(directory).length]).toEqual([false, 2]);
    // The process of the killed server may make its backup again, but removes none: its
    // setting was to keep one.
    resume();
    await hasEnded();
    expect(contentsOf(directory)).toMatchObject(first);
    expect((await backUpNow(again)).status).toBe(200);
    expect([hasUnfinished(), readdirSync(directory).length]).toEqual([false, 2]);
  });

  test("does not keep the server from stopping", async () => {
    const { server, reply, directory, first } = await openInterruptedSite();
    const [child = 0] = listChildProcesses(server.pid);
    expect(await server.stop()).toBe(0);
    expect((await reply.catch(() => new Response("", { status: 408 }))).status).toBe(408);
    await waitUntil(() => !existsSync(`/proc/${child}/exe`), "the child process has ended");
    expect(contentsOf(directory)).toMatchObject(first);
  });

  test("because the caller disconnects is finished nevertheless", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const directory = join(site.folder, "backups");
    const caller = new AbortController();
    const { reply, resume } = await startSuspendedJob(
      site,
      () => callAdmin(site, "POST", "/backups", { signal: caller.signal }),
      () => existsSync(directory) && readdirSync(directory).length > 0,
    );
    caller.abort();
    expect(await reply.catch(() => "gone")).toBe("gone");
    expect((await listBackups(site)).running_since).not.toBeNull();
    resume();
    await waitUntil(
      async () => (await listBackups(site)).running_since === null,
      "the backup is finished",
    );
    expect((await listBackups(site)).backups.map(({ verified }) => verified)).toEqual([true]);
  });
});
