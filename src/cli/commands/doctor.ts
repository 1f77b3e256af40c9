import type { StatusReply } from "../../http/status.ts";
import type { AccessReply } from "../../http/routes/access.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { SERVICE_DATA, SERVICE_SETTINGS } from "../../platform/options.ts";
import { asOwnerOf } from "../../platform/owner.ts";
import { FolderBusy } from "../../store/lock.ts";
import { FolderRefused } from "../../store/refusal.ts";
import { findCopyRefusal } from "../appliance-claim.ts";
import {
  dataFolder,
  Failure,
  isSet,
  place,
  stringOf,
  type Command,
  type Given,
} from "../command.ts";
import { exitCodeOf, finding, ok, worstOf, type Finding } from "../doctor/finding.ts";
import { folderFindings } from "../doctor/folder.ts";
import { hostFindings } from "../doctor/host.ts";
import { siteFindings } from "../doctor/site.ts";
import { tokenFindings } from "../doctor/tokens.ts";
import { option, serverSettings } from "../flags.ts";
import { reach } from "../reach.ts";
import { findStartRefusal } from "../start-checks.ts";
import { print, printJson, table } from "../terminal.ts";

export const doctor: Command = {
  name: "doctor",
  everyday: true,
  summary: "check the installation for problems and say how to fix them",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth doctor", "berth doctor --data /srv/berth --json"],
  examinesSettings: true,
  async run(given) {
    const findings = await examine(given);
    if (isSet(given, "json")) printJson({ worst_level: worstOf(findings), findings });
    else print(report(findings));
    return exitCodeOf(findings);
  },
};

/** Everything that can be found out, however bad it is. */
export async function examine(given: Given): Promise<Finding[]> {
  const folder = dataFolder(given);
  const inFolder = await asOwnerOf(folder, async () => [
    ...(await folderFindings(folder)),
    ...(await copyFindings(folder, given)),
  ]);
  const isBroken = inFolder.some(({ level }) => level === "error");
  const { site, findings } = isBroken ? NOBODY : await ask(given);
  const pid = site === null || site.status.pid === process.pid ? null : site.status.pid;
  const listens = listensOf(given, pid !== null);
  const settings = await settingsFindings(given, folder, listens);
  const host = hostFindings({ folder, isService: isServiceFolder(given), listens, pid });
  return [...settings, ...inFolder, ...findings, ...host];
}

/** A server has the same appliance in another folder: commands refuse to change this one. */
async function copyFindings(folder: string, { environment }: Given): Promise<Finding[]> {
  const refusal = await findCopyRefusal(folder, environment);
  return refusal === null ? [] : [finding("copy", "warning", refusal.message, refusal.hint)];
}

async function settingsFindings(
  given: Given,
  folder: string,
  listens: readonly string[],
): Promise<Finding[]> {
  const { settingsFault: fault } = given;
  if (fault !== null && fault !== undefined) {
    return [finding("settings", "error", fault.message, fault.hint)];
  }
  const refusal = await findStartRefusal(given, folder, listens);
  if (refusal !== null) return [finding("settings", "error", refusal.message, refusal.hint)];
  const path = stringOf(given, "config");
  return path === null ? [] : [ok("settings", `read from ${path}`)];
}

/** Its own folder, or the one that its settings name instead. */
const isServiceFolder = ({ values }: Given): boolean =>
  [values.get("data")?.value, values.get("data")?.from].some(
    (one) => one === SERVICE_DATA || one === SERVICE_SETTINGS,
  );

/**
 * As flags, the environment or the settings file say. Where a server that was started by hand
 * listens is known to whoever started it; and a default is not in force where the file is wrong.
 */
function listensOf(given: Given, isServed: boolean): string[] {
  const names = ["listen", "listen-tls"] as const;
  const isSaid = names.some(
    (name) => !["default", undefined].includes(given.values.get(name)?.from),
  );
  if (!isSaid && (isServed || (given.settingsFault ?? null) !== null)) return [];
  return names.flatMap((name) => stringOf(given, name) ?? []);
}

interface Asked {
  readonly site: { readonly status: StatusReply } | null;
  readonly findings: readonly Finding[];
}

const NOBODY: Asked = { site: null, findings: [] };

async function ask(given: Given): Promise<Asked> {
  try {
    const site = await reach(place(given), async (call) => ({
      status: (await call("GET", "/api/admin/v1/status")) as StatusReply,
      clock: (await call("GET", "/api/admin/v1/clock")) as ClockReply,
      access: (await call("GET", "/api/admin/v1/access")) as AccessReply,
    }));
    const { status, clock, access } = site;
    const tokens = tokenFindings(access.tokens, status.now);
    return { site, findings: [...siteFindings(status, clock), ...tokens] };
  } catch (error) {
    // What is wrong with the folder has been found already, in better words.
    if (error instanceof FolderRefused) return NOBODY;
    if (!(error instanceof FolderBusy || error instanceof Failure)) throw error;
    const advice = "check with berth status; the server may still be starting";
    return { site: null, findings: [finding("server", "warning", error.message, advice)] };
  }
}

const report = (findings: readonly Finding[]): string =>
  table(
    findings.flatMap(({ level, check, finding: text, remedy }) => [
      [level, check, text],
      ...(remedy === "" ? [] : [["", "  remedy", remedy]]),
    ]),
  );
