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
import { messageOfError } from "../../platform/error-message.ts";
import { wallClock } from "../../platform/clock.ts";
import { readFolderUse } from "../../operations/folder/folder-contents.ts";
import { envName } from "../frame/options.ts";
import { isActive, readServiceLog, systemctl } from "../../platform/system/systemd.ts";
import { version } from "../../platform/embedded/version.ts";
import { Failure } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { parseJsonRefusal } from "../frame/json-refusal.ts";
import { withSystemCode } from "../frame/system-errors.ts";
import { printWarning } from "../frame/terminal.ts";
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

/** Runs a Berth executable; if it refuses or fails, throws its error. */
export function runBerth(binary: string, ...args: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([binary, ...args], {
    stdin: "ignore",
    cwd: "/",
    // Not the flag: the executable may be an older one whose command does not have it.
    env: { [envName(option.json)]: "true" },
  });
  if (exitCode === 0) return stdout.toString();
  const refusal = parseJsonRefusal(stdout.toString());
  if (refusal !== null) {
    const { code, message, hint } = refusal;
    throw new Failure(withSystemCode(message, code), hint ?? "", code);
  }
  const error = stderr.toString().trim();
  throw new Failure(error || `berth ${args[0] ?? ""} exited with code ${exitCode}`, "");
}

/** What `verify` prints. */
interface VerifyOutput {
  readonly audit_damage?: { readonly finding: string; readonly remedy: string };
}

const hasData = (): boolean => readFolderUse(servicePaths.data) === "used";

/** Called before anything changes: this version must not take over data that it cannot read. */
export function checkDataReadable(old: InstalledService | null): void {
  if (!hasData()) return;
  try {
    const args = ["verify", "--allow-damaged-audit", "--json", "--data", servicePaths.data];
    const { audit_damage: damage } = JSON.parse(
      runBerth(process.execPath, ...args),
    ) as VerifyOutput;
    // An upgrade cannot make this worse, and its backup reports it too.
    if (damage !== undefined) printWarning(`${damage.finding}; ${damage.remedy}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const unchanged = old === null ? "" : `; the installed ${old.binary} is unchanged`;
    throw new Failure(`nothing was changed${unchanged}: ${error.message}`, error.hint);
  }
}

/** Changes nothing before the data is backed up, and rolls back if the new version fails. */
export async function upgrade(
  old: InstalledService,
  binary: string,
  steps: readonly InstallStep[],
  report: (text: string) => void,
): Promise<void> {
  // It must not end half way, neither by Ctrl-C nor by a lost connection to the terminal.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const isNewPath = !existsSync(binary);
  const backup = stopAndBackUp(old, report);
  try {
    await runSteps(steps, false, report);
    systemctl("daemon-reload");
    activateService(old);
  } catch (error) {
    rollBack(old, isNewPath ? binary : null, backup, error);
    const outcome = old.wasRunning ? "is running again" : "is installed again";
    throw new Failure(
      `the upgrade to ${version} failed and the previous version ${outcome}: ${messageOfError(error)}`,
      `no data was lost; backup from before the upgrade: ${backup ?? "not needed"}`,
    );
  }
  if (existsSync(rollbackBinaryPath(old.binary))) keepPreviousBinary(old.binary, binary);
}

/** Stops the service, so that the backup is complete, and keeps what a rollback needs. */
function stopAndBackUp(old: InstalledService, report: (text: string) => void): string | null {
  mkdirSync(servicePaths.backups, { recursive: true, mode: 0o700 });
  const stamp = new Date(wallClock()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const pathFor = (kind: string): string =>
    join(servicePaths.backups, `before-${version}-${stamp}.${kind}`);
  systemctl("stop", SERVICE_UNIT);
  try {
    // One left by an interrupted upgrade is the last executable that is known to have run.
    const rollbackPath = rollbackBinaryPath(old.binary);
    if (existsSync(old.binary) && !existsSync(rollbackPath)) linkSync(old.binary, rollbackPath);
    // An operator may have edited the unit.
    writeFileSync(pathFor("service"), old.unit, { mode: 0o600 });
    report(`  done   a copy of the previous unit: ${pathFor("service")}`);
    if (!hasData()) return null;
    runBerth(process.execPath, "backup", pathFor("berth"), "--data", servicePaths.data);
    report(`  done   a backup of the data folder: ${pathFor("berth")}`);
    return pathFor("berth");
  } catch (error) {
    rmSync(rollbackBinaryPath(old.binary), { force: true });
    if (old.wasRunning) systemctl("start", SERVICE_UNIT);
    const restarted = old.wasRunning ? `; ${old.binary} is running again` : "";
    const hint =
      error instanceof Failure ? error.hint : `check the free space in ${servicePaths.backups}`;
    throw new Failure(`nothing was changed${restarted}: ${messageOfError(error)}`, hint);
  }
}

/** A service that an operator stopped, but left enabled at boot, stays stopped. */
export function activateService(old: InstalledService | null): void {
  if (old === null || old.isIncomplete) systemctl("enable", SERVICE_UNIT);
  if (old === null || !old.isStoppedByOperator) startService();
}

/** With Type=notify, `restart` returns when the service answers requests or has failed. */
function startService(): void {
  // After several failed starts systemd would refuse to start it for a minute.
  systemctl("reset-failed", SERVICE_UNIT);
  const started = systemctl("restart", SERVICE_UNIT);
  if (started.ok && isActive(SERVICE_UNIT)) return;
  throw new Failure(
    `the service does not become ready; its last log lines:\n${readServiceLog(SERVICE_UNIT)}`,
    `look for the cause with berth doctor; journalctl -u ${SERVICE_UNIT} shows the full log`,
  );
}

/**
 * Restores the old executable and unit, and the old data only if the new version made it
 * unreadable. No other step needs disk space, because the disk may be full.
 */
function rollBack(
  old: InstalledService,
  newBinary: string | null,
  backup: string | null,
  cause: unknown,
): void {
  try {
    systemctl("stop", SERVICE_UNIT);
    if (existsSync(rollbackBinaryPath(old.binary)))
      move(rollbackBinaryPath(old.binary), old.binary);
    if (newBinary !== null && newBinary !== old.binary) rmSync(newBinary, { force: true });
    if (!existsSync(servicePaths.unit) || readFileSync(servicePaths.unit, "utf8") !== old.unit) {
      writeFileAtomically(servicePaths.unit, 0o644, (temporary) =>
        writeFileSync(temporary, old.unit),
      );
    }
    systemctl("daemon-reload");
    if (backup !== null && !isReadable(old.binary)) {
      runBerth(old.binary, "restore", backup, "--accept-loss", "--data", servicePaths.data);
    }
    if (old.wasRunning) startService();
  } catch (error) {
    throw new Failure(
      `${version} does not run (${messageOfError(cause)}), and the previous version does not run either: ${messageOfError(error)}`,
      `backup from before the upgrade: ${backup ?? "not needed"}; fix the cause and run the command again`,
    );
  }
}

/** Keeps the previous executable beside the new one, unless only the unit or the path is new. */
function keepPreviousBinary(oldPath: string, newPath: string): void {
  const previous = rollbackBinaryPath(oldPath);
  if (oldPath === newPath && !isSameFile(previous, newPath)) {
    move(previous, previousBinaryPath(newPath));
  } else rmSync(previous);
}

/** If both are names of the same file, rename() does nothing, so `from` is removed as well. */
function move(from: string, to: string): void {
  renameSync(from, to);
  rmSync(from, { force: true });
}

/** The rest is readable even if the audit log is damaged. */
function isReadable(binary: string): boolean {
  try {
    runBerth(binary, "verify", "--allow-damaged-audit", "--data", servicePaths.data);
    return true;
  } catch {
    return false;
  }
}
