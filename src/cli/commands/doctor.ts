import type { StatusReply } from "../../http/status.ts";
import type { AccessReply } from "../../http/routes/access.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { SERVICE_DATA, SERVICE_SETTINGS } from "../../platform/options.ts";
import { runAsFolderOwner } from "../../platform/owner.ts";
import { FolderBusy } from "../../store/lock.ts";
import { FolderRefused } from "../../store/refusal.ts";
import { findCopyRefusal } from "../appliance-claim.ts";
import {
  getDataFolder,
  Failure,
  isFlagSet,
  getAdminTarget,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../command.ts";
import {
  exitCodeFor,
  createFinding,
  okFinding,
  worstLevel,
  type Finding,
} from "../doctor/finding.ts";
import { checkDataFolder } from "../doctor/folder.ts";
import { checkHost } from "../doctor/host.ts";
import { checkSite } from "../doctor/site.ts";
import { checkTokens } from "../doctor/tokens.ts";
import { option, serverSettings } from "../flags.ts";
import { withAdminClient } from "../admin-client.ts";
import { findStartRefusal } from "../start-checks.ts";
import { print, printJson, formatTable } from "../terminal.ts";

export const doctorCommand: Command = {
  name: "doctor",
  isCommon: true,
  summary: "check the installation for problems and say how to fix them",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth doctor", "berth doctor --data /srv/berth --json"],
  canRunWithInvalidSettings: true,
  async run(given) {
    const findings = await runChecks(given);
    if (isFlagSet(given, "json")) printJson({ worst_level: worstLevel(findings), findings });
    else print(report(findings));
    return exitCodeFor(findings);
  },
};

/** Everything that can be found out, however bad it is. */
export async function runChecks(given: FlagValues): Promise<Finding[]> {
  const folder = getDataFolder(given);
  const inFolder = await runAsFolderOwner(folder, async () => [
    ...(await checkDataFolder(folder)),
    ...(await copyFindings(folder, given)),
  ]);
  const isBroken = inFolder.some(({ level }) => level === "error");
  const { site, findings } = isBroken ? NO_SITE : await checkRunningSite(given);
  const pid = site === null || site.status.pid === process.pid ? null : site.status.pid;
  const listens = getListenAddresses(given, pid !== null);
  const settings = await settingsFindings(given, folder, listens);
  const host = checkHost({
    folder,
    isService: isServiceFolder(given),
    listenAddresses: listens,
    pid,
  });
  return [...settings, ...inFolder, ...findings, ...host];
}

/** A server has the same appliance in another folder: commands refuse to change this one. */
async function copyFindings(folder: string, { environment }: FlagValues): Promise<Finding[]> {
  const refusal = await findCopyRefusal(folder, environment);
  return refusal === null ? [] : [createFinding("copy", "warning", refusal.message, refusal.hint)];
}

async function settingsFindings(
  given: FlagValues,
  folder: string,
  listens: readonly string[],
): Promise<Finding[]> {
  const { settingsError: fault } = given;
  if (fault !== null && fault !== undefined) {
    return [createFinding("settings", "error", fault.message, fault.hint)];
  }
  const refusal = await findStartRefusal(given, folder, listens);
  if (refusal !== null) return [createFinding("settings", "error", refusal.message, refusal.hint)];
  const path = getStringFlag(given, "config");
  return path === null ? [] : [okFinding("settings", `read from ${path}`)];
}

/** Its own folder, or the one that its settings name instead. */
const isServiceFolder = ({ values }: FlagValues): boolean =>
  [values.get("data")?.value, values.get("data")?.from].some(
    (one) => one === SERVICE_DATA || one === SERVICE_SETTINGS,
  );

/**
 * As flags, the environment or the settings file say. Where a server that was started by hand
 * listens is known to whoever started it; and a default is not in force where the file is wrong.
 */
function getListenAddresses(given: FlagValues, isServed: boolean): string[] {
  const names = ["listen", "listen-tls"] as const;
  const isSaid = names.some(
    (name) => !["default", undefined].includes(given.values.get(name)?.from),
  );
  if (!isSaid && (isServed || (given.settingsError ?? null) !== null)) return [];
  return names.flatMap((name) => getStringFlag(given, name) ?? []);
}

interface SiteChecks {
  readonly site: { readonly status: StatusReply } | null;
  readonly findings: readonly Finding[];
}

const NO_SITE: SiteChecks = { site: null, findings: [] };

async function checkRunningSite(given: FlagValues): Promise<SiteChecks> {
  try {
    const site = await withAdminClient(getAdminTarget(given), async (call) => ({
      status: (await call("GET", "/api/admin/v1/status")) as StatusReply,
      clock: (await call("GET", "/api/admin/v1/clock")) as ClockReply,
      access: (await call("GET", "/api/admin/v1/access")) as AccessReply,
    }));
    const { status, clock, access } = site;
    const tokens = checkTokens(access.tokens, status.now);
    return { site, findings: [...checkSite(status, clock), ...tokens] };
  } catch (error) {
    // What is wrong with the folder has been found already, in better words.
    if (error instanceof FolderRefused) return NO_SITE;
    if (!(error instanceof FolderBusy || error instanceof Failure)) throw error;
    const advice = "check with berth status; the server may still be starting";
    return { site: null, findings: [createFinding("server", "warning", error.message, advice)] };
  }
}

const report = (findings: readonly Finding[]): string =>
  formatTable(
    findings.flatMap(({ level, check, finding: text, remedy }) => [
      [level, check, text],
      ...(remedy === "" ? [] : [["", "  remedy", remedy]]),
    ]),
  );
