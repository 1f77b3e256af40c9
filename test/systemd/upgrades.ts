// Versions come and go on the machine that `systemd.ts` boots, and the users stay.
import { STATE_FORMAT } from "../../src/store/snapshot.ts";
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

/** `builds`: where a build of that name is. */
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
  const { registeredUsers, unexpectedReplies, goesOn, stop } = startLoad("upgraded");
  await goesOn();
  const done = await install("berth-next");
  await goesOn();
  await stop();
  const lost = findMissingUsers([...before, ...registeredUsers]);
  check(
    `upgraded under load, with a backup and the old executable kept, and ${registeredUsers.size} more registrations`,
    done.code === 0 &&
      readServerVersion() === "9.0.0" &&
      existsSync("/usr/local/bin/berth.previous") &&
      run("sh", "-c", "ls /var/backups/berth/before-9.0.0-*.berth").code === 0 &&
      lost.length === 0 &&
      unexpectedReplies.length === 0,
    { text: done.output, lost: lost.slice(0, 5), wrong: unexpectedReplies.slice(0, 5) },
  );
  check(
    "what an operator changed in the unit outlives it",
    existsSync(`/etc/systemd/system/${SERVICE}.d/later.conf`) &&
      readUnitProperty("WatchdogUSec") === "5min",
    readUnitProperty("WatchdogUSec"),
  );
}

async function checkFailedUpgrades(): Promise<void> {
  for (const [name, what] of [
    ["berth-never-ready", "does not become ready"],
    ["berth-new-format-never-ready", "has written its own format and does not become ready"],
  ] as const) {
    const before = listHolders();
    const failed = await install(name);
    await waitForAnswer();
    const lost = findMissingUsers(before);
    check(
      `a version that ${what} is taken back, and the one before serves all ${before.size} users`,
      failed.code === 1 &&
        failed.output.includes("this build never gets ready") &&
        readServerVersion() === "9.0.0" &&
        lost.length === 0,
      { text: failed.output, lost: lost.slice(0, 5) },
    );
  }
}

async function checkRefusedDowngrade(): Promise<void> {
  const newer = await install("berth-new-format");
  // With something to fold: its first checkpoint is in the new format.
  await callApi("/api/v4/register", { product: "CAD", user: "eve" });
  runOrThrow("systemctl", "restart", SERVICE);
  const pid = readMainPid();
  const refused = await install("berth-next");
  check(
    "a version that cannot read the data is refused, and what runs goes on",
    newer.code === 0 &&
      refused.code === 1 &&
      refused.output.includes(`has format ${STATE_FORMAT + 1}`) &&
      refused.output.includes("hint: ") &&
      readServerVersion() === "9.3.0" &&
      readMainPid() === pid,
    { newer: newer.output, refused: refused.output },
  );
}

/** The file system of the executable has no room for another one. */
async function checkFullDisk(): Promise<void> {
  const before = listHolders();
  runOrThrow("mkdir", "/opt/small");
  runOrThrow("mount", "-t", "tmpfs", "-o", "size=180m", "tmpfs", "/opt/small");
  const to = ["--install-path", "/opt/small/berth"];
  const moved = await runAsync(build("berth-next"), "service", "install", ...to);
  const failed = await runAsync(build("berth-new-format"), "service", "install");
  await waitForAnswer();
  const lost = findMissingUsers(before);
  check(
    "moved elsewhere with --install-path, and without room for the next one, what ran runs on",
    moved.code === 0 &&
      failed.code === 1 &&
      failed.output.includes("ENOSPC") &&
      readServerVersion() === "9.0.0" &&
      readUnitProperty("ExecStart").includes("/opt/small/berth") &&
      run("ls", "/opt/small").output === "berth\n" &&
      lost.length === 0,
    { moved: moved.output, failed: failed.output, ls: run("ls", "/opt/small").output },
  );
  const back = ["--install-path", "/usr/local/bin/berth"];
  const again = await runAsync(build("berth-next"), "service", "install", ...back);
  check(
    "and back again, with the way there kept until it ran",
    again.code === 0 &&
      readUnitProperty("ExecStart").includes("/usr/local/bin/berth") &&
      existsSync("/usr/local/bin/berth.previous") &&
      readServerVersion() === "9.0.0",
    again.output,
  );
  runOrThrow("umount", "/opt/small");
}

/** As a killed installer leaves it: stopped, the new executable in place, never tried. */
async function checkInterruptedUpgrade(): Promise<void> {
  runOrThrow("systemctl", "stop", SERVICE);
  renameSync("/usr/local/bin/berth", "/usr/local/bin/berth.upgrading");
  runOrThrow("cp", build("berth-never-ready"), "/usr/local/bin/berth");
  const failed = await install("berth-never-ready");
  const taken = failed.code === 1 && readFileSync("/usr/local/bin/berth").length > 0;
  const version = run("/usr/local/bin/berth", "version").output;
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  check(
    "after an upgrade that was interrupted, the next one still finds the way back",
    taken && version.includes("9.0.0") && readServerVersion() === "9.0.0",
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
  const twice = await install("berth-next");
  check(
    "one that was stopped on purpose stays stopped, one that was disabled stays disabled",
    upgradedOnce.code === 0 &&
      upgradedOnce.output.includes("stays stopped") &&
      code !== 0 &&
      twice.code === 0 &&
      run("systemctl", "is-active", "--quiet", SERVICE).code === 0 &&
      run("systemctl", "is-enabled", "--quiet", SERVICE).code !== 0,
    { once: upgradedOnce.output, twice: twice.output },
  );
  check(
    "a unit that was edited by hand is written anew, and kept beside the backups",
    !readFileSync(UNIT_PATH, "utf8").includes("edited by hand") && copies.includes(".service"),
    copies,
  );
  runOrThrow("systemctl", "enable", SERVICE);
}

async function checkRollback(): Promise<void> {
  const previous = run("/usr/local/bin/berth.previous", "version").output;
  const back = await runAsync("/usr/local/bin/berth.previous", "service", "install");
  const now = readServerVersion();
  const again = await runAsync("/usr/local/bin/berth", "service", "install");
  check(
    "the version before can be installed from where it is kept, and installing itself is nothing",
    previous.includes("9.4.0") &&
      back.code === 0 &&
      now === "9.4.0" &&
      run("/usr/local/bin/berth.previous", "version").output.includes("9.0.0") &&
      again.code === 0 &&
      !again.output.includes("done "),
    { previous, back: back.output, now, again: again.output },
  );
  const forth = await install("berth-next");
  check(
    "and the newer one again",
    forth.code === 0 && readServerVersion() === "9.0.0",
    forth.output,
  );
}

async function checkUninstall(): Promise<void> {
  const before = listHolders();
  const removed = run("berth", "service", "uninstall");
  check(
    "removed, its data stay",
    removed.code === 0 &&
      !existsSync("/usr/local/bin/berth") &&
      !existsSync(`/etc/systemd/system/${SERVICE}`) &&
      existsSync(`${DATA_FOLDER}/state.json`),
    removed.output,
  );
  const again = await install("berth-new-format");
  const lost = findMissingUsers(before);
  check(
    `installed again, all ${before.size} users are there`,
    again.code === 0 && (await waitForAnswer()) && lost.length === 0,
    { text: again.output, lost: lost.slice(0, 5) },
  );
}

async function checkInvalidInstallPaths(): Promise<void> {
  for (const [to, why] of [
    ["/home/berth", "cannot access"],
    ["/opt", "is a folder"],
    ["/opt/two words", "only contain letters"],
  ] as const) {
    const refused = run(build("berth-new-format"), "service", "install", "--install-path", to);
    check(
      `--install-path ${to} is misuse`,
      refused.code === 2 && refused.output.includes(why),
      refused,
    );
  }
}

async function checkPortInUse(): Promise<void> {
  runOrThrow("berth", "service", "uninstall");
  const holder = Bun.listen({ hostname: "0.0.0.0", port: 8_080, socket: { data() {} } });
  const failed = await install("berth-new-format");
  const told = run("berth", "doctor");
  holder.stop(true);
  const again = await install("berth-new-format");
  check(
    "with its port taken it says so, doctor says by whom, and it runs as soon as the port is free",
    failed.code === 1 &&
      failed.output.includes("port 8080 on 0.0.0.0 is in use") &&
      told.code === 78 &&
      told.output.includes(`in use by process ${process.pid} (`) &&
      again.code === 0 &&
      (await answersNow()),
    { failed: failed.output, told: told.output, again: again.output },
  );
}
