import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runJsonOrThrow } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

async function expectMisuse(setting: string, value: string, problem: string): Promise<void> {
  const cwd = tempFolder();
  const config = join(cwd, "berth.toml");
  writeFileSync(config, `${setting} = "${value}"\n`);
  const flag = setting.replaceAll("_", "-");
  const variable = `BERTH_${setting.toUpperCase()}`;
  const listen = ["--data", "data", "--listen", "127.0.0.1:0"];
  const attempts = [
    [[`--${flag}=${value}`], {}, `--${flag}`],
    ...(value === "" ? [] : [[[], { [variable]: value }, `${variable}: ${flag}`] as const]),
    [["--config", config], {}, `${config}:1: ${setting}`],
  ] as const;
  for (const [words, env, subject] of attempts) {
    const { code, stdout, stderr } = await runBerth(["serve", ...listen, ...words], { cwd, env });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith(`berth: error: ${subject} ${problem}`);
    expect(stderr).toContain("\nberth: hint: for example ");
    expect(existsSync(join(cwd, "data"))).toBe(false);
  }
}

test.each(["never", "daily", "daily 25:00", "weekly 02:30", "*/5 * * * *"])(
  "backup_schedule is refused as a flag, a variable and in the settings file: %p",
  (value) =>
    expectMisuse("backup_schedule", value, "must be off, hourly, daily HH:MM or weekly DAY HH:MM"),
);

test.each(["0", "-1", "1.5", "x", "10000"])(
  "backup_keep is refused as a flag, a variable and in the settings file: %p",
  (value) => expectMisuse("backup_keep", value, "must be a number of backups from 1 to 9999"),
);

test("an empty backup_dir is refused", () => expectMisuse("backup_dir", "", "requires a folder"));

test("backup_dir in the settings file is relative to the folder of the file", async () => {
  const folder = tempFolder();
  const config = join(folder, "berth.toml");
  writeFileSync(config, 'backup_dir = "copies"\nbackup_keep = 3\nbackup_schedule = "hourly"\n');
  expect(await runJsonOrThrow<object>(["config", "--config", config], { cwd: "/" })).toMatchObject({
    backup_schedule: { value: "hourly", source: config },
    backup_keep: { value: "3", source: config },
    backup_dir: { value: join(folder, "copies"), source: config },
  });
});
