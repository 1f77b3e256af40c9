import { existsSync, readFileSync } from "node:fs";
import type { StatusReply } from "../../http/status.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { parseConfig } from "../../platform/options.ts";
import { asOwnerOf } from "../../platform/owner.ts";
import { FolderBusy } from "../../store/lock.ts";
import { FolderRefused } from "../../store/refusal.ts";
import {
  dataFolder,
  Failure,
  isSet,
  place,
  stringOf,
  type Command,
  type Given,
} from "../command.ts";
import { exitCodeOf, finding, worstOf, type Finding } from "../doctor/finding.ts";
import { folderFindings } from "../doctor/folder.ts";
import { hostFindings } from "../doctor/host.ts";
import { siteFindings } from "../doctor/site.ts";
import { option, serverSettings } from "../flags.ts";
import { reach } from "../reach.ts";
import { places } from "../service/unit.ts";
import { print, printJson, table } from "../terminal.ts";

export const doctor: Command = {
  name: "doctor",
  everyday: true,
  summary: "look for everything an operator could get wrong, and say what to do about it",
  options: [
    option.data,
    option.identity,
    option.listen,
    option.listenTls,
    option.config,
    option.json,
  ],
  examples: ["berth doctor", "berth doctor --config /etc/berth/berth.toml --json"],
  async run(given) {
    const findings = await examine(given);
    if (isSet(given, "json")) printJson({ worst: worstOf(findings), findings });
    else print(report(findings));
    return exitCodeOf(findings);
  },
};

/** Everything that can be found out, however bad it is. */
export async function examine(given: Given): Promise<Finding[]> {
  const folder = dataFolder(given);
  const inFolder = await asOwnerOf(folder, () => folderFindings(folder));
  const isBroken = inFolder.some(({ level }) => level === "broken");
  const { site, findings } = isBroken ? NOBODY : await ask(given);
  const pid = site === null || site.status.pid === process.pid ? null : site.status.pid;
  const listens = listensOf(given, folder, pid !== null);
  return [...inFolder, ...findings, ...hostFindings({ folder, listens, pid })];
}

/**
 * As they were said; of the service's folder, as the service's own settings say. Where a server
 * that was started by hand listens is known to whoever started it.
 */
function listensOf(given: Given, folder: string, isServed: boolean): string[] {
  const names = ["listen", "listen-tls"] as const;
  const said = names.some((name) => !["default", undefined].includes(given.values.get(name)?.from));
  if (said || folder !== places.data || !existsSync(places.settings)) {
    return isServed && !said ? [] : names.flatMap((name) => stringOf(given, name) ?? []);
  }
  const text = readFileSync(places.settings, "utf8");
  const { values } = parseConfig(places.settings, text, serverSettings);
  return ["listen", "listen_tls"].flatMap((key) => {
    const value = values.get(key);
    return typeof value === "string" ? [value] : [];
  });
}

interface Asked {
  readonly site: { readonly status: StatusReply; readonly clock: ClockReply } | null;
  readonly findings: readonly Finding[];
}

const NOBODY: Asked = { site: null, findings: [] };

async function ask(given: Given): Promise<Asked> {
  try {
    const site = await reach(place(given), async (call) => ({
      status: (await call("GET", "/api/admin/v1/status")) as StatusReply,
      clock: (await call("GET", "/api/admin/v1/clock")) as ClockReply,
    }));
    return { site, findings: siteFindings(site.status, site.clock) };
  } catch (error) {
    // What is wrong with the folder has been found already, in better words.
    if (error instanceof FolderRefused) return NOBODY;
    if (!(error instanceof FolderBusy || error instanceof Failure)) throw error;
    const advice = "berth status tells the same; is the server still starting?";
    return { site: null, findings: [finding("server", "warning", error.message, advice)] };
  }
}

const report = (findings: readonly Finding[]): string =>
  table(
    findings.flatMap(({ level, check, found, advice }) => [
      [level, check, found],
      ...(advice === "" ? [] : [["", "  to do", advice]]),
    ]),
  );
