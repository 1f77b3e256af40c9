import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { isActive, lastWords, systemctl } from "../../platform/systemd.ts";
import { version } from "../../platform/version.ts";
import { isEmptyFolder } from "../../store/folder.ts";
import { Failure } from "../command.ts";
import { printWarning } from "../terminal.ts";
import type { Installed } from "./installed.ts";
import { follow, isSameFile, keptOf, previousOf, replace, type Step } from "./steps.ts";
import { places, SERVICE } from "./unit.ts";

/** Runs an executable of ours; a refusal of its is ours. */
export function berth(binary: string, ...words: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([binary, ...words], {
    stdin: "ignore",
    cwd: "/",
    env: {},
  });
  if (exitCode === 0) return stdout.toString();
  const [error = "", hint = ""] = stderr
    .toString()
    .split("\n")
    .filter((line) => /^berth: (?:error|hint): /.test(line))
    .map((line) => line.replace(/^berth: \w+: /, ""));
  throw new Failure(error || `berth ${words[0] ?? ""} exited with code ${exitCode}`, hint);
}

/** What `verify` prints. */
interface Walked {
  readonly audit_damage?: { readonly finding: string; readonly remedy: string };
}

const hasData = (): boolean =>
  realDisk.stat(places.data) !== null && !isEmptyFolder(realDisk, places.data);

/** Before anything is touched: what this version cannot read, it must not take over. */
export function checkData(old: Installed | null): void {
  if (!hasData()) return;
  try {
    const words = ["verify", "--allow-damaged-audit", "--json", "--data", places.data];
    const { audit_damage: damage } = JSON.parse(berth(process.execPath, ...words)) as Walked;
    // Nothing that an upgrade could make worse; the backup it makes says so, too.
    if (damage !== undefined) printWarning(`${damage.finding}; ${damage.remedy}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const kept = old === null ? "" : `; the installed ${old.binary} is unchanged`;
    throw new Failure(`nothing was changed${kept}: ${error.message}`, error.hint);
  }
}

/** Nothing is touched before its data are safe, and it comes back if the new one fails. */
export async function upgrade(
  old: Installed,
  binary: string,
  steps: readonly Step[],
  say: (text: string) => void,
): Promise<void> {
  // Half way is the one place where it must not end: not by Ctrl-C, nor by a line that breaks.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const isNewPlace = !existsSync(binary);
  const backup = setAside(old, say);
  try {
    await follow(steps, false, say);
    systemctl("daemon-reload");
    putInService(old);
  } catch (error) {
    goBack(old, isNewPlace ? binary : null, backup, error);
    const then = old.wasRunning ? "is running again" : "is installed again";
    throw new Failure(
      `the upgrade to ${version} failed and the previous version ${then}: ${reasonOf(error)}`,
      `no data was lost; backup from before the upgrade: ${backup ?? "not needed"}`,
    );
  }
  if (existsSync(keptOf(old.binary))) settle(old.binary, binary);
}

/** Stops what runs, so that the backup is all of it, and keeps what it takes to go back. */
function setAside(old: Installed, say: (text: string) => void): string | null {
  mkdirSync(places.backups, { recursive: true, mode: 0o700 });
  const stamp = new Date(wallClock()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const named = (kind: string): string =>
    join(places.backups, `before-${version}-${stamp}.${kind}`);
  systemctl("stop", SERVICE);
  try {
    // One that an interrupted upgrade left is the last one that is known to have run.
    const kept = keptOf(old.binary);
    if (existsSync(old.binary) && !existsSync(kept)) linkSync(old.binary, kept);
    // Somebody may have edited it.
    writeFileSync(named("service"), old.unit, { mode: 0o600 });
    say(`  done   a copy of the previous unit: ${named("service")}`);
    if (!hasData()) return null;
    berth(process.execPath, "backup", named("berth"), "--data", places.data);
    say(`  done   a backup of the data folder: ${named("berth")}`);
    return named("berth");
  } catch (error) {
    rmSync(keptOf(old.binary), { force: true });
    if (old.wasRunning) systemctl("start", SERVICE);
    const goesOn = old.wasRunning ? `; ${old.binary} is running again` : "";
    const hint =
      error instanceof Failure ? error.hint : `check the free space in ${places.backups}`;
    throw new Failure(`nothing was changed${goesOn}: ${reasonOf(error)}`, hint);
  }
}

/** One that somebody stopped, and meant to start with the machine, stays stopped. */
export function putInService(old: Installed | null): void {
  if (old === null || old.isNeitherNor) systemctl("enable", SERVICE);
  if (old === null || !old.isStopped) startService();
}

/** Type=notify: this returns when it answers requests, or is known not to. */
function startService(): void {
  // After some failed starts systemd would wait for a minute before it tries again.
  systemctl("reset-failed", SERVICE);
  const started = systemctl("restart", SERVICE);
  if (started.ok && isActive(SERVICE)) return;
  throw new Failure(
    `the service does not become ready; its last log lines:\n${lastWords(SERVICE)}`,
    `look for the cause with berth doctor; journalctl -u ${SERVICE} shows the full log`,
  );
}

/**
 * The old executable and unit; the old data too, but only if the new one made them unreadable. No
 * step of it needs room on a disk that may be full, unless the data must be restored.
 */
function goBack(old: Installed, made: string | null, backup: string | null, why: unknown): void {
  try {
    systemctl("stop", SERVICE);
    if (existsSync(keptOf(old.binary))) move(keptOf(old.binary), old.binary);
    if (made !== null && made !== old.binary) rmSync(made, { force: true });
    if (!existsSync(places.unit) || readFileSync(places.unit, "utf8") !== old.unit) {
      replace(places.unit, 0o644, (fresh) => writeFileSync(fresh, old.unit));
    }
    systemctl("daemon-reload");
    if (backup !== null && !isReadable(old.binary)) {
      berth(old.binary, "restore", backup, "--accept-loss", "--data", places.data);
    }
    if (old.wasRunning) startService();
  } catch (error) {
    throw new Failure(
      `${version} does not run (${reasonOf(why)}), and the previous version does not run either: ${reasonOf(error)}`,
      `backup from before the upgrade: ${backup ?? "not needed"}; fix the cause and run the command again`,
    );
  }
}

/** What ran before stays beside what runs now; a new unit alone replaces no executable. */
function settle(was: string, is: string): void {
  const kept = keptOf(was);
  if (was === is && !isSameFile(kept, is)) move(kept, previousOf(is));
  else rmSync(kept);
}

/** Two names of one file stay two names when one is renamed to the other. */
function move(from: string, to: string): void {
  renameSync(from, to);
  rmSync(from, { force: true });
}

/** A damaged audit log keeps nobody from reading the rest; an older version has no flag for it. */
const isReadable = (binary: string): boolean =>
  [["--allow-damaged-audit"], []].some((flags) => {
    try {
      berth(binary, "verify", ...flags, "--data", places.data);
      return true;
    } catch {
      return false;
    }
  });

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
