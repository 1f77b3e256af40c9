import type { StatusReply } from "../../http/reply/status.ts";
import { SERVICE_DATA, SERVICE_SETTINGS, type Environment } from "../../platform/environment.ts";
import type { Misuse } from "../frame/options.ts";
import { runAsFolderOwner } from "../../platform/files/owner.ts";
import { findCopyRefusal } from "../../operations/folder/appliance-claim.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import { unwrapReply, withAdminClient } from "../client/admin-client.ts";
import { Failure } from "../frame/command.ts";
import type { ListenAddress } from "../serve/listen-address.ts";
import type { ServeSettings } from "../serve/settings.ts";
import { findStartRefusal } from "../serve/start-checks.ts";
import { createFinding, okFinding, type Finding } from "./finding.ts";
import { checkDataFolder } from "./folder.ts";
import { checkHost } from "./host.ts";
import { checkSite } from "./site.ts";
import { checkTokens } from "./tokens.ts";

/** What is examined: the settings, where they come from, and whether their file is valid. */
export interface Installation {
  readonly settings: ServeSettings;
  readonly sources: Readonly<Record<"data" | "listen" | "listenTls", string | null>>;
  /** The settings file; null: there is none. */
  readonly config: string | null;
  /** Why the settings file could not be used; null: it was read, or there is none. */
  readonly settingsError: Misuse | null;
  readonly environment: Environment;
}

/** Runs every check that is possible, however bad the state is. */
export async function checkInstallation(installation: Installation): Promise<Finding[]> {
  const { settings, environment } = installation;
  const { data: folder } = settings;
  const folderFindings = await runAsFolderOwner(folder, async () => [
    ...(await checkDataFolder(folder)),
    ...(await copyFindings(folder, environment)),
  ]);
  const isBroken = folderFindings.some(({ level }) => level === "error");
  const { site, findings } = isBroken ? NO_SITE : await checkRunningSite(installation);
  const pid = site === null || site.status.pid === process.pid ? null : site.status.pid;
  const listenAddresses = getListenAddresses(installation, pid !== null);
  const settingFindings = await settingsFindings(installation, listenAddresses);
  const isService = isServiceFolder(installation);
  const host = checkHost({ folder, isService, listenAddresses, pid });
  return [...settingFindings, ...folderFindings, ...findings, ...host];
}

/** If a server serves the same appliance from another folder, commands do not change this one. */
async function copyFindings(folder: string, environment: Environment): Promise<Finding[]> {
  const refusal = await findCopyRefusal(folder, environment);
  return refusal === null ? [] : [createFinding("copy", "warning", refusal.message, refusal.hint)];
}

async function settingsFindings(
  { settings, settingsError: fault, config }: Installation,
  listenAddresses: readonly ListenAddress[],
): Promise<Finding[]> {
  if (fault !== null) return [createFinding("settings", "error", fault.message, fault.hint)];
  const refusal = await findStartRefusal(settings, listenAddresses);
  if (refusal !== null) return [createFinding("settings", "error", refusal.message, refusal.hint)];
  return config === null ? [] : [okFinding("settings", `read from ${config}`)];
}

/** Whether it is the service's default folder, or the one that its settings name. */
const isServiceFolder = ({ settings, sources }: Installation): boolean =>
  settings.data === SERVICE_DATA || sources.data === SERVICE_SETTINGS;

/**
 * From flags, the environment or the settings file. The default is not used for a running server,
 * which may have been started with other flags, nor if the settings file is invalid.
 */
function getListenAddresses(
  { settings: { listen, listenTls }, sources, settingsError }: Installation,
  isServerRunning: boolean,
): ListenAddress[] {
  const isSet = [sources.listen, sources.listenTls].some(
    (source) => source !== null && source !== "default",
  );
  if (!isSet && (isServerRunning || settingsError !== null)) return [];
  return [listen, ...(listenTls === null ? [] : [listenTls])];
}

interface SiteChecks {
  readonly site: { readonly status: StatusReply } | null;
  readonly findings: readonly Finding[];
}

const NO_SITE: SiteChecks = { site: null, findings: [] };

async function checkRunningSite({ settings, environment }: Installation): Promise<SiteChecks> {
  try {
    const site = await withAdminClient(settings, { environment }, async ({ admin }) => ({
      status: await unwrapReply(admin.status.get()),
      clock: await unwrapReply(admin.clock.get()),
      access: await unwrapReply(admin.access.get()),
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
