import type { StatusReply } from "../../http/reply/status.ts";
import type { AccessReply } from "../../http/routes/access.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { SERVICE_DATA, SERVICE_SETTINGS } from "../../platform/options.ts";
import { runAsFolderOwner } from "../../platform/owner.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import { findCopyRefusal } from "../../operations/folder/appliance-claim.ts";
import {
  getDataFolder,
  Failure,
  isFlagSet,
  getAdminTarget,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../frame/command.ts";
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
import { option, serverSettings } from "../frame/flags.ts";
import { withAdminCall } from "../client/admin-call.ts";
import { findStartRefusal } from "../serve/start-checks.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

export const doctorCommand: Command = {
  name: "doctor",
  isCommon: true,
  summary: "check the installation for problems and say how to fix them",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth doctor", "berth doctor --data /srv/berth --json"],
  canRunWithInvalidSettings: true,
  async run(flags) {
    const findings = await runChecks(flags);
    if (isFlagSet(flags, "json")) printJson({ worst_level: worstLevel(findings), findings });
    else print(report(findings));
    return exitCodeFor(findings);
  },
};

/** Runs every check that is possible, however bad the state is. */
export async function runChecks(flags: FlagValues): Promise<Finding[]> {
  const folder = getDataFolder(flags);
  const folderFindings = await runAsFolderOwner(folder, async () => [
    ...(await checkDataFolder(folder)),
    ...(await copyFindings(folder, flags)),
  ]);
  const isBroken = folderFindings.some(({ level }) => level === "error");
  const { site, findings } = isBroken ? NO_SITE : await checkRunningSite(flags);
  const pid = site === null || site.status.pid === process.pid ? null : site.status.pid;
  const listenAddresses = getListenAddresses(flags, pid !== null);
  const settings = await settingsFindings(flags, folder, listenAddresses);
  const host = checkHost({
    folder,
    isService: isServiceFolder(flags),
    listenAddresses,
    pid,
  });
  return [...settings, ...folderFindings, ...findings, ...host];
}

/** If a server serves the same appliance from another folder, commands do not change this one. */
async function copyFindings(folder: string, { environment }: FlagValues): Promise<Finding[]> {
  const refusal = await findCopyRefusal(folder, environment);
  return refusal === null ? [] : [createFinding("copy", "warning", refusal.message, refusal.hint)];
}

async function settingsFindings(
  flags: FlagValues,
  folder: string,
  listenAddresses: readonly string[],
): Promise<Finding[]> {
  const { settingsError: fault } = flags;
  if (fault !== null && fault !== undefined) {
    return [createFinding("settings", "error", fault.message, fault.hint)];
  }
  const refusal = await findStartRefusal(flags, folder, listenAddresses);
  if (refusal !== null) return [createFinding("settings", "error", refusal.message, refusal.hint)];
  const path = getStringFlag(flags, "config");
  return path === null ? [] : [okFinding("settings", `read from ${path}`)];
}

/** Whether it is the service's default folder, or the one that its settings name. */
const isServiceFolder = ({ values }: FlagValues): boolean =>
  [values.get("data")?.value, values.get("data")?.from].some(
    (text) => text === SERVICE_DATA || text === SERVICE_SETTINGS,
  );

/**
 * From flags, the environment or the settings file. The default is not used for a running server,
 * which may have been started with other flags, nor if the settings file is invalid.
 */
function getListenAddresses(flags: FlagValues, isServerRunning: boolean): string[] {
  const names = ["listen", "listen-tls"] as const;
  const isSet = names.some(
    (name) => !["default", undefined].includes(flags.values.get(name)?.from),
  );
  if (!isSet && (isServerRunning || (flags.settingsError ?? null) !== null)) return [];
  return names.flatMap((name) => getStringFlag(flags, name) ?? []);
}

interface SiteChecks {
  readonly site: { readonly status: StatusReply } | null;
  readonly findings: readonly Finding[];
}

const NO_SITE: SiteChecks = { site: null, findings: [] };

async function checkRunningSite(flags: FlagValues): Promise<SiteChecks> {
  try {
    const site = await withAdminCall(getAdminTarget(flags), async (call) => ({
      status: (await call("GET", "/api/admin/v1/status")) as StatusReply,
      clock: (await call("GET", "/api/admin/v1/clock")) as ClockReply,
      access: (await call("GET", "/api/admin/v1/access")) as AccessReply,
    }));
    const { status, clock, access } = site;
    const tokens = checkTokens(access.tokens, status.now);
    return { site, findings: [...checkSite(status, clock), ...tokens] };
  } catch (error) {
    // The checks of the folder have already reported this, with more details.
    const refusal = findFolderError(error);
    if (refusal?.needsOperator === true) return NO_SITE;
    const message = error instanceof Failure ? error.message : refusal?.message;
    const isExpected = error instanceof Failure || refusal?.code === "folder_in_use";
    if (!isExpected || message === undefined) throw error;
    const advice = "check with berth status; the server may still be starting";
    return { site: null, findings: [createFinding("server", "warning", message, advice)] };
  }
}

const report = (findings: readonly Finding[]): string =>
  formatTable(
    findings.flatMap(({ level, check, finding: text, remedy }) => [
      [level, check, text],
      ...(remedy === "" ? [] : [["", "  remedy", remedy]]),
    ]),
  );
