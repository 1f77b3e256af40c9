import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkBackupFolder } from "../../../src/cli/doctor/backup-folder.ts";
import { readServiceBackupDir } from "../../../src/cli/service/service-backup-dir.ts";
import { allowsWritingTo, unitText } from "../../../src/cli/service/unit.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const unitFor = (backupDir: string | null): string => unitText("/bin/true", () => false, backupDir);

describe("the systemd unit and backup_dir", () => {
  test.each([
    ["/mnt/backups", '"-/mnt/backups"'],
    ["/mnt/my backups", '"-/mnt/my backups"'],
    ['/mnt/50%"', '"-/mnt/50%%\\""'],
  ])("the service may write to %s", (path, expected) => {
    const unit = unitFor(path);
    expect(unit).toContain(`\nReadWritePaths=${expected}\n`);
    expect([allowsWritingTo(unit, path), allowsWritingTo(unitFor(null), path)]).toEqual([
      true,
      false,
    ]);
  });

  test("without backup_dir, the service may write to its data folder only", () => {
    expect(unitFor(null)).not.toContain("ReadWritePaths");
  });

  test.skipIf(Bun.which("systemd-analyze") === null)("systemd accepts the unit", () => {
    const path = join(tempFolder(), "berth.service");
    writeFileSync(path, unitFor('/mnt/my "50%" backups'));
    const command = ["systemd-analyze", "verify", "--man=no", path];
    const { exitCode, stderr } = Bun.spawnSync(command);
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  });
});

describe("the backup folder of the service's settings", () => {
  const read = (text: string): string | null => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, text);
    return readServiceBackupDir(path);
  };

  test.each([
    ['backup_dir = "/mnt/backups"\n', "/mnt/backups"],
    ['backup_dir = "/var/lib/berth/copies"\n', null],
    ["backup_keep = 3\n", null],
    ["backup_dir = 3\nwrong", null],
  ])("%p is %p", (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test("is absent without a settings file", () => {
    expect(readServiceBackupDir(join(tempFolder(), "berth.toml"))).toBeNull();
  });
});

describe("berth doctor", () => {
  const check = (backupDir: string | null) =>
    checkBackupFolder({ backupDir, backupSchedule: { every: "hour" } }, false);

  test("reports a backup folder that does not exist", () => {
    const folder = join(tempFolder(), "share");
    const [report] = check(folder);
    expect(report?.findings).toEqual([
      {
        code: "backup_dir_unusable",
        severity: "warning",
        summary: `The backup folder ${folder} does not exist`,
        remedy: "Mount its disk, or create it for the user of the server",
        command: `mkdir -m 700 ${folder}`,
        subject: null,
      },
    ]);
    mkdirSync(folder);
    expect(check(folder).flatMap(({ findings }) => findings)).toEqual([]);
  });

  test("reports a backup folder that cannot be written to", () => {
    const [report] = check("/proc/self");
    expect(report?.findings.map(({ summary }) => summary)).toEqual([
      expect.stringMatching(/^The server cannot write to the backup folder \/proc\/self \(E/),
    ]);
  });

  test.each(["/home/ada/backups", "/root", "/tmp/backups", "/var/tmp/backups"])(
    "reports that the unit hides %s from the service",
    (folder) => {
      const settings = { backupDir: folder, backupSchedule: { every: "hour" } } as const;
      const [report] = checkBackupFolder(settings, true);
      expect(report?.findings.map(({ code, summary }) => [code, summary])).toEqual([
        ["backup_dir_unusable", `The service cannot use the backup folder ${folder}`],
      ]);
    },
  );

  test("does not check the folder inside the data folder", () => {
    expect(check(null)).toEqual([]);
  });
});
