import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { hasSystemd, isActive, systemctl } from "../../platform/systemd.ts";
import { isCompiled, version } from "../../platform/version.ts";
import {
  EXIT_OK,
  Failure,
  isFlagSet,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../command.ts";
import { option } from "../flags.ts";
import { checkInstallPath, installationSteps } from "../service/installation.ts";
import { readInstalledService, type InstalledService } from "../service/installed-service.ts";
import { runSteps, rollbackBinaryPath, previousBinaryPath } from "../service/steps.ts";
import { servicePaths, SERVICE_UNIT, unitText } from "../service/unit.ts";
import { checkDataReadable, activateService, upgrade } from "../service/upgrade.ts";
import { print, printWarning, formatTable } from "../terminal.ts";
import { tlsPaths } from "../tls-files.ts";

const install: Command = {
  name: "service install",
  isCommon: true,
  summary: "install this executable as a systemd service, or upgrade the installed one",
  options: [option.installPath, option.listen, option.serviceTls, option.names, option.dryRun],
  examples: ["berth service install --dry-run", "berth service install --names berth.plant7.lan"],
  async run(given) {
    refuseUnsupportedHost("install", isFlagSet(given, "dry-run"));
    const old = readInstalledService();
    const binary = getInstallPath(given, old);
    checkInstallPath(binary);
    checkDataReadable(old);
    const steps = installationSteps(given, binary);
    if (isFlagSet(given, "dry-run")) {
      await runSteps(steps, true, print);
      print(`  would  start ${SERVICE_UNIT} and wait until it is ready`);
      return EXIT_OK;
    }
    const changes = old?.isUpgradeInterrupted === true || steps.some((step) => !step.isDone());
    if (old !== null && changes) await upgrade(old, binary, steps, print);
    else {
      await runSteps(steps, false, print);
      systemctl("daemon-reload");
      if (!isActive(SERVICE_UNIT)) activateService(old);
    }
    print(summary(binary, old?.isStoppedByOperator === true));
    return EXIT_OK;
  },
};

/** Where it is already, unless somebody says otherwise. */
const getInstallPath = (given: FlagValues, old: InstalledService | null): string =>
  old !== null && given.values.get("install-path")?.from === "default"
    ? old.binary
    : (getStringFlag(given, "install-path") ?? "");

/** A rehearsal changes nothing: it may be held on any machine, and says what that one lacks. */
function refuseUnsupportedHost(verb: "install" | "uninstall", isRehearsal: boolean): void {
  if (!isCompiled) {
    throw new Failure(
      `only the compiled executable can ${verb} itself`,
      "build it with bun run build",
    );
  }
  if (process.getuid?.() !== 0) {
    // A rehearsal as well: it has to look into folders that only root may read.
    const hint = `sudo berth service ${verb}${isRehearsal ? " --dry-run" : ""}`;
    throw new Failure(`root privileges are required to ${verb} the service`, hint);
  }
  if (!hasSystemd() && isRehearsal) {
    printWarning("this machine does not run systemd: without --dry-run this command fails here");
  } else if (!hasSystemd()) {
    throw new Failure(
      "this machine does not run systemd",
      "start berth serve with this machine's service manager; berth service print shows the systemd unit as an example",
    );
  }
}

function summary(binary: string, isStopped: boolean): string {
  const { caCertificate } = tlsPaths(servicePaths.data);
  const how = isStopped
    ? "; it was stopped and stays stopped: systemctl start berth"
    : " and ready";
  return `
berth ${version} is installed${how}
${formatTable([
  ["  settings", servicePaths.settings],
  ["  data", servicePaths.data],
  ["  site CA", `${caCertificate}; clients need it for TLS; its key is in ${servicePaths.ca}`],
  [
    "  admin token",
    `${servicePaths.adminToken}; Authorization: Bearer, over TLS from other machines`,
  ],
  ["  log", `journalctl -u ${SERVICE_UNIT}`],
])}

next:
  ${binary} status                       show its state and exposures
  ${binary} trust add trust.jwt          trust the vendor's licenses
  ${binary} license request --out FILE   create a request for the vendor
  ${binary} doctor                       check for problems`;
}

const uninstall: Command = {
  name: "service uninstall",
  summary: "stop and remove the service; data, settings and backups are kept",
  options: [option.installPath, option.dryRun],
  async run(given) {
    const isRehearsal = isFlagSet(given, "dry-run");
    refuseUnsupportedHost("uninstall", isRehearsal);
    const binary = getInstallPath(given, readInstalledService());
    if (!isRehearsal) systemctl("disable", "--now", SERVICE_UNIT);
    const { unit, users, man, completion } = servicePaths;
    const files = [
      unit,
      users,
      man,
      completion,
      binary,
      previousBinaryPath(binary),
      rollbackBinaryPath(binary),
    ];
    const there = files.filter((path) => existsSync(path));
    if (there.length === 0) print("no service is installed here");
    await runSteps(
      there.map((path) => ({
        description: `remove ${path}`,
        isDone: () => !existsSync(path),
        apply: () => rmSync(path),
      })),
      isRehearsal,
      print,
    );
    if (!isRehearsal) systemctl("daemon-reload");
    const kept = [servicePaths.data, dirname(servicePaths.settings), servicePaths.backups].filter(
      (path) => existsSync(path),
    );
    if (kept.length === 0) return EXIT_OK;
    print(`\nkept: ${kept.join(", ")}; delete them yourself if you no longer need them.`);
    print(
      "Licenses that are still installed there would be lost: return them first (berth license remove).",
    );
    return EXIT_OK;
  },
};

const show: Command = {
  name: "service print",
  summary: "print the systemd unit that service install would write",
  options: [option.installPath],
  async run(given) {
    print(unitText(getStringFlag(given, "install-path") ?? "", willExist).trimEnd());
    return EXIT_OK;
  },
};

/** The sealing key is made by the installation itself. */
const willExist = (path: string): boolean => path === servicePaths.sealingKey || existsSync(path);

export const serviceCommands: readonly Command[] = [install, uninstall, show];
