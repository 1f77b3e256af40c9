import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { hasSystemd, isActive, systemctl } from "../../platform/systemd.ts";
import { isCompiled, version } from "../../platform/version.ts";
import { DONE, Failure, isSet, stringOf, type Command, type Given } from "../command.ts";
import { option } from "../flags.ts";
import { checkPlace, installationSteps } from "../service/installation.ts";
import { installedHere, type Installed } from "../service/installed.ts";
import { follow, keptOf, previousOf } from "../service/steps.ts";
import { places, SERVICE, unitText } from "../service/unit.ts";
import { checkData, putInService, upgrade } from "../service/upgrade.ts";
import { print, printWarning, table } from "../terminal.ts";
import { tlsPaths } from "../tls-files.ts";

const install: Command = {
  name: "service install",
  everyday: true,
  summary: "install this executable as a systemd service, or upgrade the installed one",
  options: [option.to, option.listen, option.serviceTls, option.names, option.dryRun],
  examples: ["berth service install --dry-run", "berth service install --names berth.plant7.lan"],
  async run(given) {
    refuseElsewhere("install", isSet(given, "dry-run"));
    const old = installedHere();
    const binary = placeOf(given, old);
    checkPlace(binary);
    checkData(old);
    const steps = installationSteps(given, binary);
    if (isSet(given, "dry-run")) {
      await follow(steps, true, print);
      print(`  would  start ${SERVICE} and wait until it is ready`);
      return DONE;
    }
    const changes = old?.isUnderWay === true || steps.some((step) => !step.isDone());
    if (old !== null && changes) await upgrade(old, binary, steps, print);
    else {
      await follow(steps, false, print);
      systemctl("daemon-reload");
      if (!isActive(SERVICE)) putInService(old);
    }
    print(summary(binary, old?.isStopped === true));
    return DONE;
  },
};

/** Where it is already, unless somebody says otherwise. */
const placeOf = (given: Given, old: Installed | null): string =>
  old !== null && given.values.get("install-path")?.from === "default"
    ? old.binary
    : (stringOf(given, "install-path") ?? "");

/** A rehearsal changes nothing: it may be held on any machine, and says what that one lacks. */
function refuseElsewhere(verb: "install" | "uninstall", isRehearsal: boolean): void {
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
  const { caCertificate } = tlsPaths(places.data);
  const how = isStopped
    ? "; it was stopped and stays stopped: systemctl start berth"
    : " and ready";
  return `
berth ${version} is installed${how}
${table([
  ["  settings", places.settings],
  ["  data", places.data],
  ["  site CA", `${caCertificate}; clients need it for TLS; its key is in ${places.ca}`],
  ["  admin token", `${places.adminToken}; Authorization: Bearer, over TLS from other machines`],
  ["  log", `journalctl -u ${SERVICE}`],
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
  options: [option.to, option.dryRun],
  async run(given) {
    const isRehearsal = isSet(given, "dry-run");
    refuseElsewhere("uninstall", isRehearsal);
    const binary = placeOf(given, installedHere());
    if (!isRehearsal) systemctl("disable", "--now", SERVICE);
    const { unit, users, man, completion } = places;
    const files = [unit, users, man, completion, binary, previousOf(binary), keptOf(binary)];
    const there = files.filter((path) => existsSync(path));
    if (there.length === 0) print("no service is installed here");
    await follow(
      there.map((path) => ({
        what: `remove ${path}`,
        isDone: () => !existsSync(path),
        act: () => rmSync(path),
      })),
      isRehearsal,
      print,
    );
    if (!isRehearsal) systemctl("daemon-reload");
    const kept = [places.data, dirname(places.settings), places.backups].filter((path) =>
      existsSync(path),
    );
    if (kept.length === 0) return DONE;
    print(`\nkept: ${kept.join(", ")}; delete them yourself if you no longer need them.`);
    print(
      "Licenses that are still installed there would be lost: return them first (berth license remove).",
    );
    return DONE;
  },
};

const show: Command = {
  name: "service print",
  summary: "print the systemd unit that service install would write",
  options: [option.to],
  async run(given) {
    print(unitText(stringOf(given, "install-path") ?? "", willBeThere).trimEnd());
    return DONE;
  },
};

/** The sealing key is made by the installation itself. */
const willBeThere = (path: string): boolean => path === places.sealingKey || existsSync(path);

export const serviceCommands: readonly Command[] = [install, uninstall, show];
