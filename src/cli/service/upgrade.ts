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
import { isActive, readServiceLog, systemctl } from "../../platform/systemd.ts";
import { version } from "../../platform/version.ts";
import { isEmptyFolder } from "../../store/folder.ts";
import { Failure } from "../command.ts";
import { printWarning } from "../terminal.ts";
import type { InstalledService } from "./installed-service.ts";
import {
  runSteps,
  isSameFile,
  rollbackBinaryPath,
  previousBinaryPath,
  writeFileAtomically,
  type InstallStep,
} from "./steps.ts";
import { servicePaths, SERVICE_UNIT } from "./unit.ts";

/** Runs an executable of ours; a refusal of its is ours. */
export function runBerth(binary: string, ...words: readonly string[]): string {
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
interface VerifyOutput {
  readonly audit_damage?: { readonly finding: string; readonly remedy: string };
}

const hasData = (): boolean =>
  realDisk.stat(servicePaths.data) !== null && !isEmptyFolder(realDisk, servicePaths.data);

/** Before anything is touched: what this version cannot read, it must not take over. */
export function checkDataReadable(old: InstalledService | null): void {
  if (!hasData()) return;
  try {
    const words = ["verify", "--allow-damaged-audit", "--json", "--data", servicePaths.data];
    const { audit_damage: damage } = JSON.parse(
      runBerth(process.execPath, ...words),
    ) as VerifyOutput;
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
  old: InstalledService,
  binary: string,
  steps: readonly InstallStep[],
  say: (text: string) => void,
): Promise<void> {
  // Half way is the one place where it must not end: not by Ctrl-C, nor by a line that breaks.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const isNewPlace = !existsSync(binary);
  const backup = stopAndBackUp(old, say);
  try {
    await runSteps(steps, false, say);
    systemctl("daemon-reload");
    activateService(old);
  } catch (error) {
    rollBack(old, isNewPlace ? binary : null, backup, error);
    const then = old.wasRunning ? "is running again" : "is installed again";
    throw new Failure(
      `the upgrade to ${version} failed and the previous version ${then}: ${errorMessage(error)}`,
      `no data was lost; backup from before the upgrade: ${backup ?? "not needed"}`,
    );
  }
  if (existsSync(rollbackBinaryPath(old.binary))) keepPreviousBinary(old.binary, binary);
}

/** Stops what runs, so that the backup is all of it, and keeps what it takes to go back. */
function stopAndBackUp(old: InstalledService, say: (text: string) => void): string | null {
  mkdirSync(servicePaths.backups, { recursive: true, mode: 0o700 });
  const stamp = new Date(wallClock()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const named = (kind: string): string =>
    join(servicePaths.backups, `before-${version}-${stamp}.${kind}`);
  systemctl("stop", SERVICE_UNIT);
  try {
    // One that an interrupted upgrade left is the last one that is known to have run.
    const kept = rollbackBinaryPath(old.binary);
    if (existsSync(old.binary) && !existsSync(kept)) linkSync(old.binary, kept);
    // Somebody may have edited it.
    writeFileSync(named("service"), old.unit, { mode: 0o600 });
    say(`  done   a copy of the previous unit: ${named("service")}`);
    if (!hasData()) return null;
    runBerth(process.execPath, "backup", named("berth"), "--data", servicePaths.data);
    say(`  done   a backup of the data folder: ${named("berth")}`);
    return named("berth");
  } catch (error) {
    rmSync(rollbackBinaryPath(old.binary), { force: true });
    if (old.wasRunning) systemctl("start", SERVICE_UNIT);
    const goesOn = old.wasRunning ? `; ${old.binary} is running again` : "";
    const hint =
      error instanceof Failure ? error.hint : `check the free space in ${servicePaths.backups}`;
    throw new Failure(`nothing was changed${goesOn}: ${errorMessage(error)}`, hint);
  }
}

/** One that somebody stopped, and meant to start with the machine, stays stopped. */
export function activateService(old: InstalledService | null): void {
  if (old === null || old.isIncomplete) systemctl("enable", SERVICE_UNIT);
  if (old === null || !old.isStoppedByOperator) startService();
}

/** Type=notify: this returns when it answers requests, or is known not to. */
function startService(): void {
  // After some failed starts systemd would wait for a minute before it tries again.
  systemctl("reset-failed", SERVICE_UNIT);
  const started = systemctl("restart", SERVICE_UNIT);
  if (started.ok && isActive(SERVICE_UNIT)) return;
  throw new Failure(
    `the service does not become ready; its last log lines:\n${readServiceLog(SERVICE_UNIT)}`,
    `look for the cause with berth doctor; journalctl -u ${SERVICE_UNIT} shows the full log`,
  );
}

/**
 * The old executable and unit; the old data too, but only if the new one made them unreadable. No
 * step of it needs room on a disk that may be full, unless the data must be restored.
 */
function rollBack(
  old: InstalledService,
  made: string | null,
  backup: string | null,
  why: unknown,
): void {
  try {
    systemctl("stop", SERVICE_UNIT);
    if (existsSync(rollbackBinaryPath(old.binary)))
      move(rollbackBinaryPath(old.binary), old.binary);
    if (made !== null && made !== old.binary) rmSync(made, { force: true });
    if (!existsSync(servicePaths.unit) || readFileSync(servicePaths.unit, "utf8") !== old.unit) {
      writeFileAtomically(servicePaths.unit, 0o644, (fresh) => writeFileSync(fresh, old.unit));
    }
    systemctl("daemon-reload");
    if (backup !== null && !isReadable(old.binary)) {
      runBerth(old.binary, "restore", backup, "--accept-loss", "--data", servicePaths.data);
    }
    if (old.wasRunning) startService();
  } catch (error) {
    throw new Failure(
      `${version} does not run (${errorMessage(why)}), and the previous version does not run either: ${errorMessage(error)}`,
      `backup from before the upgrade: ${backup ?? "not needed"}; fix the cause and run the command again`,
    );
  }
}

/** What ran before stays beside what runs now; a new unit alone replaces no executable. */
function keepPreviousBinary(was: string, is: string): void {
  const kept = rollbackBinaryPath(was);
  if (was === is && !isSameFile(kept, is)) move(kept, previousBinaryPath(is));
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
      runBerth(binary, "verify", ...flags, "--data", servicePaths.data);
      return true;
    } catch {
      return false;
    }
  });

const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
