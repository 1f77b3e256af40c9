import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { hasSystemd, isActive, systemctl } from "../../../platform/system/systemd.ts";
import { isCompiled, version } from "../../../platform/embedded/version.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { listenAddressText } from "../../frame/option-parsers.ts";
import { checkInstallPath, installationSteps } from "../../service/installation.ts";
import { readInstalledService, type InstalledService } from "../../service/installed-service.ts";
import { runSteps, rollbackBinaryPath, previousBinaryPath } from "../../service/steps.ts";
import { readServiceBackupDir } from "../../service/service-backup-dir.ts";
import { servicePaths, SERVICE_UNIT, unitText } from "../../service/unit.ts";
import { checkDataReadable, activateService, upgrade } from "../../service/upgrade.ts";
import { printWarning, formatTable } from "../../frame/terminal.ts";
import { tlsPaths } from "../../tls/tls-files.ts";

const install = defineCommand({
  name: "service install",
  isCommon: true,
  summary: "install this executable as a systemd service, or upgrade the installed one",
  options: {
    installPath: option.installPath,
    listen: { ...option.listen, parse: listenAddressText },
    listenTls: { ...option.serviceTls, parse: listenAddressText },
    names: option.names,
    dryRun: option.dryRun,
  },
  examples: ["berth service install --dry-run", "berth service install --names berth.plant7.lan"],
  async run({ installPath, dryRun, ...settings }, { sources, show }) {
    refuseUnsupportedHost("install", dryRun);
    const old = readInstalledService();
    const binary = findBinary(installPath, sources.installPath, old);
    checkInstallPath(binary);
    checkDataReadable(old);
    const steps = installationSteps(settings, binary);
    if (dryRun) {
      await runSteps(steps, true, show);
      return { text: `  to do  start ${SERVICE_UNIT} and wait until it is ready` };
    }
    const hasChanges = old?.isUpgradeInterrupted === true || steps.some((step) => !step.isDone());
    if (old !== null && hasChanges) await upgrade(old, binary, steps, show);
    else {
      await runSteps(steps, false, show);
      systemctl("daemon-reload");
      if (!isActive(SERVICE_UNIT)) activateService(old);
    }
    return { text: summary(binary, old?.isStoppedByOperator === true) };
  },
});

/** The path of the installed executable, unless --install-path names another. */
const findBinary = (path: string, source: string | null, old: InstalledService | null): string =>
  old !== null && source === "default" ? old.binary : path;

/** A dry run changes nothing, so it may run on any machine; it warns of what is missing there. */
function refuseUnsupportedHost(verb: "install" | "uninstall", isDryRun: boolean): void {
  if (!isCompiled) {
    throw new Failure(
      `only the compiled executable can ${verb} itself`,
      "build it with bun run build",
    );
  }
  if (process.getuid?.() !== 0) {
    // A dry run needs root too: it reads folders that only root may read.
    const hint = `sudo berth service ${verb}${isDryRun ? " --dry-run" : ""}`;
    throw new Failure(`root privileges are required to ${verb} the service`, hint);
  }
  if (!hasSystemd() && isDryRun) {
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
  const state = isStopped
    ? "; it was stopped and stays stopped: systemctl start berth"
    : " and ready";
  return `
berth ${version} is installed${state}
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

const uninstall = defineCommand({
  name: "service uninstall",
  summary: "stop and remove the service; data, settings and backups are kept",
  options: {
    installPath: { ...option.installPath, help: "path of the installed executable" },
    dryRun: option.dryRun,
  },
  async run({ installPath, dryRun }, { sources, show }) {
    refuseUnsupportedHost("uninstall", dryRun);
    const binary = findBinary(installPath, sources.installPath, readInstalledService());
    if (!dryRun) systemctl("disable", "--now", SERVICE_UNIT);
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
    const existing = files.filter((path) => existsSync(path));
    if (existing.length === 0) show("no service is installed here");
    await runSteps(
      existing.map((path) => ({
        description: `remove ${path}`,
        isDone: () => !existsSync(path),
        apply: () => rmSync(path),
      })),
      dryRun,
      show,
    );
    if (!dryRun) systemctl("daemon-reload");
    const keptPaths = [
      servicePaths.data,
      dirname(servicePaths.settings),
      servicePaths.backups,
    ].filter((path) => existsSync(path));
    return { text: keptPaths.length === 0 ? [] : describeKept(keptPaths) };
  },
});

const describeKept = (paths: readonly string[]): string[] => [
  `\nkept: ${paths.join(", ")}; delete them yourself if you no longer need them.`,
  "Licenses that are still installed there would be lost: return them first (berth license remove).",
];

const show = defineCommand({
  name: "service print",
  summary: "print the systemd unit that service install would write",
  options: {
    installPath: { ...option.installPath, help: "path of the executable in the unit" },
  },
  run({ installPath }) {
    return { text: unitText(installPath, willExist, readServiceBackupDir()).trimEnd() };
  },
});

/** The installation itself creates the sealing key. */
const willExist = (path: string): boolean => path === servicePaths.sealingKey || existsSync(path);

export const serviceCommands: readonly Command[] = [install, uninstall, show];
