// Upgrades, rollbacks and removal on the machine that `run.ts` boots; no registration is lost.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { STATE_FORMAT } from "../../src/store/state/snapshot.ts";
import {
  expectTrue,
  type CommandResult,
  type RegistrationLoad,
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

/** `build` returns the path of a build by its name. The service is installed and has a license. */
export function testUpgrades(build: (name: string) => string): void {
  const install = (name: string, ...flags: string[]): Promise<CommandResult> =>
    runAsync(build(name), "service", "install", ...flags);

  describe("an upgrade under load", () => {
    let upgraded: CommandResult;
    let load: RegistrationLoad;
    let missingUsers: readonly string[];

    beforeAll(async () => {
      mkdirSync(`/etc/systemd/system/${SERVICE}.d`);
      writeFileSync(`/etc/systemd/system/${SERVICE}.d/later.conf`, "[Service]\nWatchdogSec=5min\n");
      runOrThrow("systemctl", "daemon-reload");
      const before = listHolders();
      load = startLoad("upgraded");
      await load.waitForProgress();
      upgraded = await install("berth-next");
      await load.waitForProgress();
      await load.stop();
      missingUsers = findMissingUsers([...before, ...load.registeredUsers]);
    });

    test("keeps a backup, the old executable and all registrations", () => {
      const { unexpectedReplies } = load;
      expectTrue(
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
    });

    test("leaves a drop-in file for the unit in effect", () => {
      expectTrue(
        existsSync(`/etc/systemd/system/${SERVICE}.d/later.conf`) &&
          readUnitProperty("WatchdogUSec") === "5min",
        readUnitProperty("WatchdogUSec"),
      );
    });
  });

  describe("a service of version 9.0.0", () => {
    beforeAll(() => install("berth-next"));

    test.each([
      ["does not become ready", "berth-never-ready"],
      ["has written its own format and does not become ready", "berth-new-format-never-ready"],
    ])(
      "a version that %s is rolled back, and the previous one serves all users",
      async (_, name) => {
        const before = listHolders();
        const failed = await install(name);
        await waitForAnswer();
        const missingUsers = findMissingUsers(before);
        expectTrue(
          failed.code === 1 &&
            failed.output.includes("this build never gets ready") &&
            readServerVersion() === "9.0.0" &&
            before.size > 0 &&
            missingUsers.length === 0,
          { text: failed.output, missingUsers: missingUsers.slice(0, 5) },
        );
      },
    );

    describe("whose executable is moved with --install-path", () => {
      beforeAll(() => {
        runOrThrow("mkdir", "/opt/small");
        runOrThrow("mount", "-t", "tmpfs", "-o", "size=180m", "tmpfs", "/opt/small");
      });

      afterAll(() => {
        runOrThrow("umount", "/opt/small");
      });

      // The file system of the executable has no space for another one.
      test("keeps the running version if an upgrade fails on a full disk", async () => {
        const before = listHolders();
        const moved = await install("berth-next", "--install-path", "/opt/small/berth");
        const failed = await install("berth-new-format");
        await waitForAnswer();
        const missingUsers = findMissingUsers(before);
        expectTrue(
          moved.code === 0 &&
            failed.code === 1 &&
            failed.output.includes("ENOSPC") &&
            readServerVersion() === "9.0.0" &&
            readUnitProperty("ExecStart").includes("/opt/small/berth") &&
            run("ls", "/opt/small").output === "berth\n" &&
            missingUsers.length === 0,
          { moved: moved.output, failed: failed.output, ls: run("ls", "/opt/small").output },
        );
      });

      test("keeps the previous executable when it is moved back", async () => {
        const reinstalled = await install("berth-next", "--install-path", "/usr/local/bin/berth");
        expectTrue(
          reinstalled.code === 0 &&
            readUnitProperty("ExecStart").includes("/usr/local/bin/berth") &&
            existsSync("/usr/local/bin/berth.previous") &&
            readServerVersion() === "9.0.0",
          reinstalled.output,
        );
      });
    });

    // The state that a killed installer leaves: stopped, with a new executable that never ran.
    test("an upgrade after an interrupted one still rolls back to the version that ran", async () => {
      runOrThrow("systemctl", "stop", SERVICE);
      renameSync("/usr/local/bin/berth", "/usr/local/bin/berth.upgrading");
      runOrThrow("cp", build("berth-never-ready"), "/usr/local/bin/berth");
      const failed = await install("berth-never-ready");
      const isRolledBack = failed.code === 1 && readFileSync("/usr/local/bin/berth").length > 0;
      const version = run("/usr/local/bin/berth", "version").output;
      runOrThrow("systemctl", "start", SERVICE);
      await waitForAnswer();
      expectTrue(isRolledBack && version.includes("9.0.0") && readServerVersion() === "9.0.0", {
        text: failed.output,
        version,
      });
    });
  });

  describe("an upgrade of a service that is not as it was installed", () => {
    let upgradedOnce: CommandResult;
    let upgradedTwice: CommandResult;
    let wasStarted: boolean;
    let isActive: boolean;
    let isEnabled: boolean;
    let copies: string;

    beforeAll(async () => {
      await install("berth-next");
      runOrThrow("systemctl", "stop", SERVICE);
      writeFileSync(UNIT_PATH, `${readFileSync(UNIT_PATH, "utf8")}# edited by hand\n`);
      upgradedOnce = await install("berth-later");
      wasStarted = run("systemctl", "is-active", "--quiet", SERVICE).code === 0;
      copies = run("sh", "-c", "grep -l 'edited by hand' /var/backups/berth/*.service").output;
      runOrThrow("systemctl", "start", SERVICE);
      runOrThrow("systemctl", "disable", SERVICE);
      upgradedTwice = await install("berth-next");
      isActive = run("systemctl", "is-active", "--quiet", SERVICE).code === 0;
      isEnabled = run("systemctl", "is-enabled", "--quiet", SERVICE).code === 0;
      runOrThrow("systemctl", "enable", SERVICE);
    });

    test("leaves a stopped service stopped and a disabled service disabled", () => {
      expectTrue(
        upgradedOnce.code === 0 &&
          upgradedOnce.output.includes("stays stopped") &&
          !wasStarted &&
          upgradedTwice.code === 0 &&
          isActive &&
          !isEnabled,
        { once: upgradedOnce.output, upgradedTwice: upgradedTwice.output },
      );
    });

    test("rewrites a unit that was edited by hand and keeps the edited one with the backups", () => {
      expectTrue(
        !readFileSync(UNIT_PATH, "utf8").includes("edited by hand") && copies.includes(".service"),
        copies,
      );
    });

    test("can be undone with berth.previous, and made again", async () => {
      const previous = run("/usr/local/bin/berth.previous", "version").output;
      const rolledBack = await runAsync("/usr/local/bin/berth.previous", "service", "install");
      const now = readServerVersion();
      const reinstalled = await runAsync("/usr/local/bin/berth", "service", "install");
      expectTrue(
        previous.includes("9.4.0") &&
          rolledBack.code === 0 &&
          now === "9.4.0" &&
          run("/usr/local/bin/berth.previous", "version").output.includes("9.0.0") &&
          reinstalled.code === 0 &&
          !reinstalled.output.includes("done "),
        { previous, rolledBack: rolledBack.output, now, reinstalled: reinstalled.output },
      );
      const upgraded = await install("berth-next");
      expectTrue(upgraded.code === 0 && readServerVersion() === "9.0.0", upgraded.output);
    });
  });

  // From here on the data is in a format that the earlier versions cannot read.
  describe("a service with a new format", () => {
    let installed: CommandResult;

    beforeAll(async () => {
      installed = await install("berth-new-format");
      // A change, so that the restart makes a checkpoint, which is in the new format.
      await callApi("/api/v4/register", { product: "CAD", user: "eve" });
      runOrThrow("systemctl", "restart", SERVICE);
    });

    test("refuses a version that cannot read the data, and the running one continues", async () => {
      const pid = readMainPid();
      const refused = await install("berth-next");
      expectTrue(
        installed.code === 0 &&
          refused.code === 1 &&
          refused.output.includes(`has format ${STATE_FORMAT + 1}`) &&
          refused.output.includes("hint: ") &&
          readServerVersion() === "9.3.0" &&
          readMainPid() === pid,
        { installed: installed.output, refused: refused.output },
      );
    });

    test("service uninstall removes executable and unit, and the next install finds the data", async () => {
      const before = listHolders();
      const removed = run("berth", "service", "uninstall");
      expectTrue(
        removed.code === 0 &&
          !existsSync("/usr/local/bin/berth") &&
          !existsSync(`/etc/systemd/system/${SERVICE}`) &&
          existsSync(`${DATA_FOLDER}/state.json`),
        removed.output,
      );
      const reinstalled = await install("berth-new-format");
      const missingUsers = findMissingUsers(before);
      expectTrue(
        reinstalled.code === 0 &&
          (await waitForAnswer()) &&
          before.size > 0 &&
          missingUsers.length === 0,
        { text: reinstalled.output, missingUsers: missingUsers.slice(0, 5) },
      );
    });

    test.each([
      ["/home/berth", "cannot access"],
      ["/opt", "is a folder"],
      ["/opt/two words", "only contain letters"],
    ])("--install-path %s is refused as a usage error", async (installPath, expectedText) => {
      const refused = await install("berth-new-format", "--install-path", installPath);
      expectTrue(refused.code === 2 && refused.output.includes(expectedText), refused);
    });

    test("service install reports a port in use, doctor names the process, and a free port works", async () => {
      runOrThrow("berth", "service", "uninstall");
      const holder = Bun.listen({ hostname: "0.0.0.0", port: 8_080, socket: { data() {} } });
      const failed = await install("berth-new-format");
      const doctor = run("berth", "doctor");
      holder.stop(true);
      const reinstalled = await install("berth-new-format");
      expectTrue(
        failed.code === 1 &&
          failed.output.includes("port 8080 on 0.0.0.0 is in use") &&
          doctor.code === 78 &&
          doctor.output.includes(`in use by process ${process.pid} (`) &&
          reinstalled.code === 0 &&
          (await answersNow()),
        { failed: failed.output, doctor: doctor.output, reinstalled: reinstalled.output },
      );
    });
  });
}
