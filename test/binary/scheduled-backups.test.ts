import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BackupReply, BackupsReply } from "../../src/http/routes/backups/backups.ts";
import type { SettingsReply } from "../../src/http/running-server.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { flipBit } from "../support/backup-site.ts";
import { startBinary } from "../support/binary.ts";
import { runBerth } from "../support/run-berth.ts";
import { callAdmin, getAdminJson, serveSite, type ServedSite } from "../support/served-site.ts";
import { tempFolder } from "../support/temp-folder.ts";

const listBackups = (site: ServedSite): Promise<BackupsReply> =>
  getAdminJson<BackupsReply>(site, "/backups");

const post = (site: ServedSite, path: string, body: object = {}): Promise<Response> =>
  callAdmin(site, "POST", path, {
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function backUpNow(site: ServedSite): Promise<BackupReply> {
  const response = await post(site, "/backups");
  const reply = (await response.json()) as BackupReply;
  expect([response.status, reply.verified]).toEqual([200, true]);
  return reply;
}

const readRefusal = async (response: Response): Promise<[number, string, string]> => {
  const { code, message } = (await response.json()) as { code: string; message: string };
  return [response.status, code, message];
};

describe("a running server", () => {
  test("backs up on request, lists, verifies and sends backups", async () => {
    const site = await serveSite();
    const status = await getAdminJson<StatusReply>(site, "/status");
    expect(status.backups).toMatchObject({
      schedule: "daily 02:30",
      directory: join(site.folder, "backups"),
      newest_at: null,
      last_fault: null,
      is_same_disk: true,
    });
    expect(existsSync(join(site.folder, "backups"))).toBe(false);
    const { name, size, seq } = await backUpNow(site);
    expect(seq).toBe(status.storage.seq);
    const path = join(site.folder, "backups", name);
    expect(statSync(path).size).toBe(size);
    const listed = await listBackups(site);
    expect(listed.backups.map((backup) => backup.name)).toEqual([name]);
    const download = await post(site, "/backups/download", { backup: name });
    expect(download.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    const copy = join(tempFolder(), name);
    writeFileSync(copy, await download.bytes());
    expect((await runBerth(["verify", copy])).code).toBe(0);
    const verified = (await (
      await post(site, "/backups/verify", { backup: name })
    ).json()) as object;
    expect(verified).toMatchObject({ name, verified: true, finding: null });
    flipBit(path, 3_000);
    const damaged = (await (
      await post(site, "/backups/verify", { backup: name })
    ).json()) as object;
    expect(damaged).toMatchObject({
      name,
      verified: false,
      finding: expect.stringContaining("damaged"),
    });
    expect((await getAdminJson<StatusReply>(site, "/status")).backups?.newest_at).toBeNull();
  });

  test("sends no other file than a backup of its list", async () => {
    const site = await serveSite();
    await backUpNow(site);
    writeFileSync(join(site.folder, "backups", "notes.txt"), "notes");
    for (const backup of ["../identity.jwk", "identity.jwk", "notes.txt", "..", "/etc/passwd"]) {
      for (const path of ["/backups/download", "/backups/verify"]) {
        expect(await readRefusal(await post(site, path, { backup }))).toEqual([
          400,
          "unknown_backup",
          "the backup folder has no backup of this name",
        ]);
      }
    }
    const [status, code] = await readRefusal(await post(site, "/backups/download"));
    expect([status, code]).toEqual([400, "missing_parameters"]);
  });

  test("sends no file that a link in the place of a backup points to", async () => {
    const site = await serveSite();
    const { name: backup } = await backUpNow(site);
    expect((await post(site, "/backups/download", { backup })).status).toBe(200);
    const path = join(site.folder, "backups", backup);
    const sendsNothing = async (): Promise<void> => {
      const [status, code] = await readRefusal(await post(site, "/backups/download", { backup }));
      expect([status, code]).toEqual([400, "unknown_backup"]);
    };
    // The server has listed the folder before, so it knows the name.
    rmSync(path);
    symlinkSync(join(site.folder, "identity.jwk"), path);
    await sendsNothing();
    rmSync(path);
    expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
    await sendsNothing();
    expect((await listBackups(site)).backups).toEqual([]);
    await sendsNothing();
  });

  test("says why it cannot write to backup_dir, and serves nevertheless", async () => {
    const directory = join(tempFolder(), "share");
    const site = await serveSite(["--backup-dir", directory]);
    const [status, code, message] = await readRefusal(await post(site, "/backups"));
    expect([status, code]).toEqual([503, "maintenance_failed"]);
    expect(message).toContain(`the backup folder ${directory} does not exist; create it`);
    const fault = (await getAdminJson<StatusReply>(site, "/status")).backups?.last_fault;
    expect(fault?.message).toBe(message);
    mkdirSync(directory);
    await backUpNow(site);
    const { backups, last_fault } = await listBackups(site);
    expect([backups.length, last_fault]).toEqual([1, null]);
  });

  test("makes no backups by itself if the schedule is off, nor in a demo", async () => {
    const site = await serveSite(["--backup-schedule", "off"]);
    const { backups } = await getAdminJson<StatusReply>(site, "/status");
    expect(backups).toMatchObject({ schedule: null, next_at: null });
    await backUpNow(site);
    const demo = await startBinary("demo", "--listen", "127.0.0.1:0");
    onTestFinished(() => demo.kill());
    const reply = await fetch(`${demo.url}/api/admin/v1/status`);
    expect(await reply.json()).toMatchObject({ backups: { schedule: null, next_at: null } });
    const { settings } = (await (
      await fetch(`${demo.url}/api/admin/v1/settings`)
    ).json()) as SettingsReply;
    const listed = (name: string) => settings.find((setting) => setting.name === name)?.value;
    expect(listed("backup_schedule")).toBe("off");
    expect(listed("listen")).toBe("127.0.0.1:0");
    expect(listed("data")).toContain("berth-demo-");
  });
});
