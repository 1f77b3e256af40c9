// Upgrades, rollbacks and removal on the machine that `systemd.ts` boots; no registration is lost.
import { STATE_FORMAT } from "../../src/store/state/snapshot.ts";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { check } from "../support/suite-harness.ts";
import {
  waitForAnswer,
  answersNow,
  callApi,
  DATA_FOLDER,
  listHolders,
  startLoad,
  readMainPid,
  findMissingUsers,
  runOrThrow,
  run,
  runAsync,
  readServerVersion,
  SERVICE,
  readUnitProperty,
  UNIT_PATH,
} from "./machine.ts";

let build: (name: string) => string;
const install = (name: string) => runAsync(build(name), "service", "install");

/** `builds` returns the path of a build by its name. */
export async function checkUpgrades(builds: (name: string) => string): Promise<void> {
  build = builds;
  await checkUpgradeUnderLoad();
  await checkFailedUpgrades();
  await checkFullDisk();
  await checkInterruptedUpgrade();
  await checkStoppedService();
  await checkRollback();
  await checkRefusedDowngrade();
  await checkUninstall();
  await checkInvalidInstallPaths();
  await checkPortInUse();
}

async function checkUpgradeUnderLoad(): Promise<void> {
  mkdirSync(`/etc/systemd/system/${SERVICE}.d`);
  writeFileSync(`/etc/systemd/system/${SERVICE}.d/later.conf`, "[Service]\nWatchdogSec=5min\n");
  runOrThrow("systemctl", "daemon-reload");
  const before = listHolders();
  const { registeredUsers, unexpectedReplies, waitForProgress, stop } = startLoad("upgraded");
  await waitForProgress();
  const upgraded = await install("berth-next");
  await waitForProgress();
  await stop();
  const missingUsers = findMissingUsers([...before, ...registeredUsers]);
  check(
    `an upgrade under load keeps a backup, the old executable and all registrations (${registeredUsers.size} new)`,
    upgraded.code === 0 &&
      readServerVersion() === "9.0.0" &&
      existsSync("/usr/local/bin/berth.previous") &&
      run("sh", "-c", "ls /var/backups/berth/before-9.0.0-*.berth").code === 0 &&
      missingUsers.length === 0 &&
      unexpectedReplies.length === 0,
    {
      text: upgraded.output,
      missingUsers: missingUsers.slice(0, 5),
      unexpectedReplies: unexpectedReplies.slice(0, 5),
    },
  );
  check(
    "a drop-in file for the unit stays in effect after an upgrade",
    existsSync(`/etc/systemd/system/${SERVICE}.d/later.conf`) &&
      readUnitProperty("WatchdogUSec") === "5min",
    readUnitProperty("WatchdogUSec"),
  );
}

async function checkFailedUpgrades(): Promise<void> {
  for (const [name, behavior] of [
    ["berth-never-ready", "does not become ready"],
    ["berth-new-format-never-ready", "has written its own format and does not become ready"],
  ] as const) {
    const before = listHolders();
    const failed = await install(name);
    await waitForAnswer();
    const missingUsers = findMissingUsers(before);
    check(
      `a version that ${behavior} is rolled back, and the previous one serves all ${before.size} users`,
      failed.code === 1 &&
        failed.output.includes("this build never gets ready") &&
        readServerVersion() === "9.0.0" &&
        missingUsers.length === 0,
      { text: failed.output, missingUsers: missingUsers.slice(0, 5) },
    );
  }
}

async function checkRefusedDowngrade(): Promise<void> {
  const installed = await install("berth-new-format");
  // A change, so that the restart makes a checkpoint, which is in the new format.
  await callApi("/api/v4/register", { product: "CAD", user: "eve" });
  runOrThrow("systemctl", "restart", SERVICE);
  const pid = readMainPid();
  const refused = await install("berth-next");
  check(
    "a version that cannot read the data is refused, and the running one continues",
    installed.code === 0 &&
      refused.code === 1 &&
      refused.output.includes(`has format ${STATE_FORMAT + 1}`) &&
      refused.output.includes("hint: ") &&
      readServerVersion() === "9.3.0" &&
      readMainPid() === pid,
    { installed: installed.output, refused: refused.output },
  );
}

/** The file system of the executable has no space for another one. */
async function checkFullDisk(): Promise<void> {
  const before = listHolders();
  runOrThrow("mkdir", "/opt/small");
  runOrThrow("mount", "-t", "tmpfs", "-o", "size=180m", "tmpfs", "/opt/small");
  const installArgs = ["--install-path", "/opt/small/berth"];
  const moved = await runAsync(build("berth-next"), "service", "install", ...installArgs);
  const failed = await runAsync(build("berth-new-format"), "service", "install");
  await waitForAnswer();
  const missingUsers = findMissingUsers(before);
  check(
    "after a move with --install-path to a full disk, a failed upgrade keeps the running version",
    moved.code === 0 &&
      failed.code === 1 &&
      failed.output.includes("ENOSPC") &&
      readServerVersion() === "9.0.0" &&
      readUnitProperty("ExecStart").includes("/opt/small/berth") &&
      run("ls", "/opt/small").output === "berth\n" &&
      missingUsers.length === 0,
    { moved: moved.output, failed: failed.output, ls: run("ls", "/opt/small").output },
  );
  const returnArgs = ["--install-path", "/usr/local/bin/berth"];
  const reinstalled = await runAsync(build("berth-next"), "service", "install", ...returnArgs);
  check(
    "a move back with --install-path keeps the previous executable",
    reinstalled.code === 0 &&
      readUnitProperty("ExecStart").includes("/usr/local/bin/berth") &&
      existsSync("/usr/local/bin/berth.previous") &&
      readServerVersion() === "9.0.0",
    reinstalled.output,
  );
  runOrThrow("umount", "/opt/small");
}

/** The state that a killed installer leaves: stopped, with a new executable that never ran. */
async function checkInterruptedUpgrade(): Promise<void> {
  runOrThrow("systemctl", "stop", SERVICE);
  renameSync("/usr/local/bin/berth", "/usr/local/bin/berth.upgrading");
  runOrThrow("cp", build("berth-never-ready"), "/usr/local/bin/berth");
  const failed = await install("berth-never-ready");
  const isRolledBack = failed.code === 1 && readFileSync("/usr/local/bin/berth").length > 0;
  const version = run("/usr/local/bin/berth", "version").output;
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  check(
    "an upgrade after an interrupted one still rolls back to the version that ran",
    isRolledBack && version.includes("9.0.0") && readServerVersion() === "9.0.0",
    { text: failed.output, version },
  );
}

async function checkStoppedService(): Promise<void> {
  runOrThrow("systemctl", "stop", SERVICE);
  writeFileSync(UNIT_PATH, `${readFileSync(UNIT_PATH, "utf8")}# edited by hand\n`);
  const upgradedOnce = await install("berth-later");
  const { code } = run("systemctl", "is-active", "--quiet", SERVICE);
  const copies = run("sh", "-c", "grep -l 'edited by hand' /var/backups/berth/*.service").output;
  runOrThrow("systemctl", "start", SERVICE);
  runOrThrow("systemctl", "disable", SERVICE);
  const upgradedTwice = await install("berth-next");
  check(
    "an upgrade leaves a stopped service stopped and a disabled service disabled",
    upgradedOnce.code === 0 &&
      upgradedOnce.output.includes("stays stopped") &&
      code !== 0 &&
      upgradedTwice.code === 0 &&
      run("systemctl", "is-active", "--quiet", SERVICE).code === 0 &&
      run("systemctl", "is-enabled", "--quiet", SERVICE).code !== 0,
    { once: upgradedOnce.output, upgradedTwice: upgradedTwice.output },
  );
  check(
    "an upgrade rewrites a unit that was edited by hand and keeps the edited one with the backups",
    !readFileSync(UNIT_PATH, "utf8").includes("edited by hand") && copies.includes(".service"),
    copies,
  );
  runOrThrow("systemctl", "enable", SERVICE);
}

async function checkRollback(): Promise<void> {
  const previous = run("/usr/local/bin/berth.previous", "version").output;
  const rolledBack = await runAsync("/usr/local/bin/berth.previous", "service", "install");
  const now = readServerVersion();
  const reinstalled = await runAsync("/usr/local/bin/berth", "service", "install");
  check(
    "berth.previous installs the previous version, and installing the running one changes nothing",
    previous.includes("9.4.0") &&
      rolledBack.code === 0 &&
      now === "9.4.0" &&
      run("/usr/local/bin/berth.previous", "version").output.includes("9.0.0") &&
      reinstalled.code === 0 &&
      !reinstalled.output.includes("done "),
    { previous, rolledBack: rolledBack.output, now, reinstalled: reinstalled.output },
  );
  const upgraded = await install("berth-next");
  check(
    "the newer version can be installed again after a rollback",
    upgraded.code === 0 && readServerVersion() === "9.0.0",
    upgraded.output,
  );
}

async function checkUninstall(): Promise<void> {
  const before = listHolders();
  const removed = run("berth", "service", "uninstall");
  check(
    "service uninstall removes the executable and the unit and keeps the data",
    removed.code === 0 &&
      !existsSync("/usr/local/bin/berth") &&
      !existsSync(`/etc/systemd/system/${SERVICE}`) &&
      existsSync(`${DATA_FOLDER}/state.json`),
    removed.output,
  );
  const reinstalled = await install("berth-new-format");
  const missingUsers = findMissingUsers(before);
  check(
    `service install after uninstall finds all ${before.size} users`,
    reinstalled.code === 0 && (await waitForAnswer()) && missingUsers.length === 0,
    { text: reinstalled.output, missingUsers: missingUsers.slice(0, 5) },
  );
}

async function checkInvalidInstallPaths(): Promise<void> {
  for (const [installPath, expectedText] of [
    ["/home/berth", "cannot access"],
    ["/opt", "is a folder"],
    ["/opt/two words", "only contain letters"],
  ] as const) {
    const refused = run(
      build("berth-new-format"),
      "service",
      "install",
      "--install-path",
      installPath,
    );
    check(
      `--install-path ${installPath} is refused as a usage error`,
      refused.code === 2 && refused.output.includes(expectedText),
      refused,
    );
  }
}

async function checkPortInUse(): Promise<void> {
  runOrThrow("berth", "service", "uninstall");
  const holder = Bun.listen({ hostname: "0.0.0.0", port: 8_080, socket: { data() {} } });
  const failed = await install("berth-new-format");
  const doctor = run("berth", "doctor");
  holder.stop(true);
  const reinstalled = await install("berth-new-format");
  check(
    "service install reports a port in use, doctor names the process, and a free port works",
    failed.code === 1 &&
      failed.output.includes("port 8080 on 0.0.0.0 is in use") &&
      doctor.code === 78 &&
      doctor.output.includes(`in use by process ${process.pid} (`) &&
      reinstalled.code === 0 &&
      (await answersNow()),
    { failed: failed.output, doctor: doctor.output, reinstalled: reinstalled.output },
  );
}
