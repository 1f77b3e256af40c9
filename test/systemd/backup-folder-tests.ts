// Scheduled backups outside of the data folder, on the machine that `run.ts` boots. The sandbox of
// the unit allows the service to write to the folder of `backup_dir`.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DoctorReply } from "../../src/http/running-server.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";
import {
  expectTrue,
  type CommandResult,
  DATA_FOLDER,
  readUnitProperty,
  run,
  runOrThrow,
  SERVICE,
  waitForAnswer,
} from "./machine.ts";

const SETTINGS_FILE = "/etc/berth/berth.toml";
const DISK = "/mnt/backups";
const FOLDER = `${DISK}/berth`;

const listFiles = (): string[] => readdirSync(FOLDER).filter((name) => name.endsWith(".berth"));

const readFindings = (): DoctorReply["findings"] =>
  (JSON.parse(run("berth", "doctor", "--json").output) as DoctorReply).findings.filter(
    ({ code }) => code === "backup_dir_unusable",
  );

/** A time of day shortly after the folder was created: its backup is due, or will be soon. */
function findDueTimeOfDay(): string {
  const { mtimeMs } = statSync(`${DATA_FOLDER}/identity.jwk`);
  const seconds = Math.ceil(mtimeMs / 1_000) + 60;
  return runOrThrow("date", "-d", `@${seconds}`, "+%H:%M").trim();
}

/** `install` installs the same version again. The service is installed and has a license. */
export function testBackupFolder(install: () => Promise<CommandResult>): void {
  describe("backup_dir outside of the data folder", () => {
    let settings: string;
    let installed: CommandResult;
    let findingsBefore: DoctorReply["findings"];

    beforeAll(async () => {
      settings = readFileSync(SETTINGS_FILE, "utf8");
      runOrThrow("mkdir", "-p", DISK);
      runOrThrow("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", DISK);
      runOrThrow("install", "-d", "-o", "berth", "-g", "berth", "-m", "700", FOLDER);
      appendFileSync(
        SETTINGS_FILE,
        `backup_dir = "${FOLDER}"\nbackup_schedule = "daily ${findDueTimeOfDay()}"\n`,
      );
      findingsBefore = readFindings();
      installed = await install();
      runOrThrow("systemctl", "restart", SERVICE);
      await waitForAnswer();
    });

    afterAll(async () => {
      writeFileSync(SETTINGS_FILE, settings);
      await install();
      run("umount", DISK);
    });

    test("doctor names service install, which adds the folder to the unit", () => {
      const [finding] = findingsBefore;
      const after = readFindings();
      expectTrue(
        finding?.command === "berth service install" &&
          installed.code === 0 &&
          readUnitProperty("ReadWritePaths").includes(FOLDER) &&
          after.length === 0,
        { findingsBefore, installed, after },
      );
    });

    test("a scheduled backup is written there by the service, and can be verified", async () => {
      await isEventuallyTrue(() => listFiles().length > 0, { maxPause: 200 });
      const [name = "none"] = listFiles();
      const path = join(FOLDER, name);
      const verified = run("berth", "verify", path);
      const { uid, mode } = statSync(path);
      expectTrue(
        verified.code === 0 &&
          uid === statSync(DATA_FOLDER).uid &&
          (mode & 0o777) === 0o600 &&
          run("berth", "backup", "list").output.includes(path),
        { name, verified, uid, mode, status: run("berth", "status").output },
      );
    });

    test("the service starts without the disk, reports that, and uses it when it is mounted", async () => {
      runOrThrow("umount", DISK);
      runOrThrow("systemctl", "restart", SERVICE);
      const answered = await waitForAnswer();
      const without = run("berth", "backup", "now");
      const findings = readFindings();
      runOrThrow("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", DISK);
      runOrThrow("install", "-d", "-o", "berth", "-g", "berth", "-m", "700", FOLDER);
      const mounted = run("berth", "backup", "now");
      expectTrue(
        answered &&
          without.code === 1 &&
          without.output.includes(`the backup folder ${FOLDER} does not exist`) &&
          findings.length === 1 &&
          mounted.code === 0 &&
          listFiles().length > 0,
        { without, findings, mounted },
      );
    });
  });
}
