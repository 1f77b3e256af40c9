// Versions come and go on the machine that `systemd.ts` boots, and the users stay.
import { STATE_FORMAT } from "../../src/store/snapshot.ts";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { check } from "../support/suite-harness.ts";
import {
  answers,
  answersNow,
  call,
  DATA,
  holders,
  load,
  mainPid,
  missing,
  must,
  run,
  runBeside,
  servedVersion,
  SERVICE,
  shown,
  UNIT,
} from "./machine.ts";

let build: (name: string) => string;
const install = (name: string) => runBeside(build(name), "service", "install");

/** `builds`: where a build of that name is. */
export async function upgrades(builds: (name: string) => string): Promise<void> {
  build = builds;
  await upgraded();
  await upgradesThatFail();
  await noRoom();
  await interrupted();
  await stoppedOnPurpose();
  await backToThePrevious();
  await downgraded();
  await uninstalled();
  await installedElsewhere();
  await portTaken();
}

async function upgraded(): Promise<void> {
  mkdirSync(`/etc/systemd/system/${SERVICE}.d`);
  writeFileSync(`/etc/systemd/system/${SERVICE}.d/later.conf`, "[Service]\nWatchdogSec=5min\n");
  must("systemctl", "daemon-reload");
  const before = holders();
  const { granted, wrong, goesOn, stop } = load("upgraded");
  await goesOn();
  const done = await install("berth-next");
  await goesOn();
  await stop();
  const lost = missing([...before, ...granted]);
  check(
    `upgraded under load, with a backup and the old executable kept, and ${granted.size} more registrations`,
    done.code === 0 &&
      servedVersion() === "9.0.0" &&
      existsSync("/usr/local/bin/berth.previous") &&
      run("sh", "-c", "ls /var/backups/berth/before-9.0.0-*.berth").code === 0 &&
      lost.length === 0 &&
      wrong.length === 0,
    { text: done.text, lost: lost.slice(0, 5), wrong: wrong.slice(0, 5) },
  );
  check(
    "what an operator changed in the unit outlives it",
    existsSync(`/etc/systemd/system/${SERVICE}.d/later.conf`) && shown("WatchdogUSec") === "5min",
    shown("WatchdogUSec"),
  );
}

async function upgradesThatFail(): Promise<void> {
  for (const [name, what] of [
    ["berth-never-ready", "does not become ready"],
    ["berth-new-format-never-ready", "has written its own format and does not become ready"],
  ] as const) {
    const before = holders();
    const failed = await install(name);
    await answers();
    const lost = missing(before);
    check(
      `a version that ${what} is taken back, and the one before serves all ${before.size} users`,
      failed.code === 1 &&
        failed.text.includes("this build never gets ready") &&
        servedVersion() === "9.0.0" &&
        lost.length === 0,
      { text: failed.text, lost: lost.slice(0, 5) },
    );
  }
}

async function downgraded(): Promise<void> {
  const newer = await install("berth-new-format");
  // With something to fold: its first checkpoint is in the new format.
  await call("/api/v4/register", { product: "CAD", user: "eve" });
  must("systemctl", "restart", SERVICE);
  const pid = mainPid();
  const refused = await install("berth-next");
  check(
    "a version that cannot read the data is refused, and what runs goes on",
    newer.code === 0 &&
      refused.code === 1 &&
      refused.text.includes(`has format ${STATE_FORMAT + 1}`) &&
      refused.text.includes("hint: ") &&
      servedVersion() === "9.3.0" &&
      mainPid() === pid,
    { newer: newer.text, refused: refused.text },
  );
}

/** The file system of the executable has no room for another one. */
async function noRoom(): Promise<void> {
  const before = holders();
  must("mkdir", "/opt/small");
  must("mount", "-t", "tmpfs", "-o", "size=180m", "tmpfs", "/opt/small");
  const to = ["--install-path", "/opt/small/berth"];
  const moved = await runBeside(build("berth-next"), "service", "install", ...to);
  const failed = await runBeside(build("berth-new-format"), "service", "install");
  await answers();
  const lost = missing(before);
  check(
    "moved elsewhere with --install-path, and without room for the next one, what ran runs on",
    moved.code === 0 &&
      failed.code === 1 &&
      failed.text.includes("ENOSPC") &&
      servedVersion() === "9.0.0" &&
      shown("ExecStart").includes("/opt/small/berth") &&
      run("ls", "/opt/small").text === "berth\n" &&
      lost.length === 0,
    { moved: moved.text, failed: failed.text, ls: run("ls", "/opt/small").text },
  );
  const back = ["--install-path", "/usr/local/bin/berth"];
  const again = await runBeside(build("berth-next"), "service", "install", ...back);
  check(
    "and back again, with the way there kept until it ran",
    again.code === 0 &&
      shown("ExecStart").includes("/usr/local/bin/berth") &&
      existsSync("/usr/local/bin/berth.previous") &&
      servedVersion() === "9.0.0",
    again.text,
  );
  must("umount", "/opt/small");
}

/** As a killed installer leaves it: stopped, the new executable in place, never tried. */
async function interrupted(): Promise<void> {
  must("systemctl", "stop", SERVICE);
  renameSync("/usr/local/bin/berth", "/usr/local/bin/berth.upgrading");
  must("cp", build("berth-never-ready"), "/usr/local/bin/berth");
  const failed = await install("berth-never-ready");
  const taken = failed.code === 1 && readFileSync("/usr/local/bin/berth").length > 0;
  const version = run("/usr/local/bin/berth", "version").text;
  must("systemctl", "start", SERVICE);
  await answers();
  check(
    "after an upgrade that was interrupted, the next one still finds the way back",
    taken && version.includes("9.0.0") && servedVersion() === "9.0.0",
    { text: failed.text, version },
  );
}

async function stoppedOnPurpose(): Promise<void> {
  must("systemctl", "stop", SERVICE);
  writeFileSync(UNIT, `${readFileSync(UNIT, "utf8")}# edited by hand\n`);
  const upgradedOnce = await install("berth-later");
  const { code } = run("systemctl", "is-active", "--quiet", SERVICE);
  const copies = run("sh", "-c", "grep -l 'edited by hand' /var/backups/berth/*.service").text;
  must("systemctl", "start", SERVICE);
  must("systemctl", "disable", SERVICE);
  const twice = await install("berth-next");
  check(
    "one that was stopped on purpose stays stopped, one that was disabled stays disabled",
    upgradedOnce.code === 0 &&
      upgradedOnce.text.includes("stays stopped") &&
      code !== 0 &&
      twice.code === 0 &&
      run("systemctl", "is-active", "--quiet", SERVICE).code === 0 &&
      run("systemctl", "is-enabled", "--quiet", SERVICE).code !== 0,
    { once: upgradedOnce.text, twice: twice.text },
  );
  check(
    "a unit that was edited by hand is written anew, and kept beside the backups",
    !readFileSync(UNIT, "utf8").includes("edited by hand") && copies.includes(".service"),
    copies,
  );
  must("systemctl", "enable", SERVICE);
}

async function backToThePrevious(): Promise<void> {
  const previous = run("/usr/local/bin/berth.previous", "version").text;
  const back = await runBeside("/usr/local/bin/berth.previous", "service", "install");
  const now = servedVersion();
  const again = await runBeside("/usr/local/bin/berth", "service", "install");
  check(
    "the version before can be installed from where it is kept, and installing itself is nothing",
    previous.includes("9.4.0") &&
      back.code === 0 &&
      now === "9.4.0" &&
      run("/usr/local/bin/berth.previous", "version").text.includes("9.0.0") &&
      again.code === 0 &&
      !again.text.includes("done "),
    { previous, back: back.text, now, again: again.text },
  );
  const forth = await install("berth-next");
  check("and the newer one again", forth.code === 0 && servedVersion() === "9.0.0", forth.text);
}

async function uninstalled(): Promise<void> {
  const before = holders();
  const removed = run("berth", "service", "uninstall");
  check(
    "removed, its data stay",
    removed.code === 0 &&
      !existsSync("/usr/local/bin/berth") &&
      !existsSync(`/etc/systemd/system/${SERVICE}`) &&
      existsSync(`${DATA}/state.json`),
    removed.text,
  );
  const again = await install("berth-new-format");
  const lost = missing(before);
  check(
    `installed again, all ${before.size} users are there`,
    again.code === 0 && (await answers()) && lost.length === 0,
    { text: again.text, lost: lost.slice(0, 5) },
  );
}

async function installedElsewhere(): Promise<void> {
  for (const [to, why] of [
    ["/home/berth", "cannot access"],
    ["/opt", "is a folder"],
    ["/opt/two words", "only contain letters"],
  ] as const) {
    const refused = run(build("berth-new-format"), "service", "install", "--install-path", to);
    check(
      `--install-path ${to} is misuse`,
      refused.code === 2 && refused.text.includes(why),
      refused,
    );
  }
}

async function portTaken(): Promise<void> {
  must("berth", "service", "uninstall");
  const holder = Bun.listen({ hostname: "0.0.0.0", port: 8_080, socket: { data() {} } });
  const failed = await install("berth-new-format");
  const told = run("berth", "doctor");
  holder.stop(true);
  const again = await install("berth-new-format");
  check(
    "with its port taken it says so, doctor says by whom, and it runs as soon as the port is free",
    failed.code === 1 &&
      failed.text.includes("port 8080 on 0.0.0.0 is in use") &&
      told.code === 78 &&
      told.text.includes(`in use by process ${process.pid} (`) &&
      again.code === 0 &&
      (await answersNow()),
    { failed: failed.text, told: told.text, again: again.text },
  );
}
