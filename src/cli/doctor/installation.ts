import { parseReport } from "../../http/routes/health/findings.ts";
import { wallClock } from "../../platform/clock.ts";
import { SERVICE_DATA, SERVICE_SETTINGS, type Environment } from "../../platform/environment.ts";
import type { Misuse } from "../frame/options.ts";
import { runAsFolderOwner } from "../../platform/files/owner.ts";
import { findCopyRefusal } from "../../operations/folder/appliance-claim.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import {
  capitalize,
  findingReport,
  mergeReports,
  passedReport,
  selectServerPart,
  worstSeverity,
  type HealthReport,
} from "../../operations/health/finding.ts";
import { unwrapReply, withAdminClient, type AdminClient } from "../client/admin-client.ts";
import { isStandbyRefusal } from "../client/standby-refusal.ts";
import { Failure } from "../frame/command.ts";
import type { ListenAddress } from "../serve/listen-address.ts";
import type { ServeSettings } from "../serve/settings.ts";
import { findStartRefusal } from "../serve/start-checks.ts";
import { checkBackupFolder } from "./backup-folder.ts";
import { checkDataFolder } from "./folder.ts";
import { checkHost } from "./host.ts";
import { accessSync, constants, statSync } from "node:fs";
import { errorCode } from "../../platform/files/system-error.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { isHiddenByUnit } from "../service/unit.ts";
import { checkPairLog } from "../../operations/pair/open-log.ts";
import { databaseFindings } from "../../operations/health/pair.ts";
import { readPairOptions } from "../serve/pair-options.ts";
import { readPasswordSources } from "../serve/service-credentials.ts";

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
export async function checkInstallation(installation: Installation): Promise<HealthReport> {
  const { settings, environment } = installation;
  const { data: folder } = settings;
  const isService = isServiceFolder(installation);
  const folderReport = await runAsFolderOwner(folder, async () =>
    mergeReports([
      await checkDataFolder(folder),
      await checkCopy(folder, environment),
      ...checkBackupFolder(settings, isService),
      ...checkEventProgram(settings.onEvent, isService),
    ]),
  );
  const isBroken = worstSeverity(folderReport.findings) === "error";
  const site = isBroken ? NO_SITE : await readSite(installation);
  const listenAddresses = getListenAddresses(installation, site.pid !== null);
  const databaseReports =
    site.pid !== null
      ? []
      : await runAsFolderOwner(folder, () =>
          checkPairDatabase(settings, site.appliance ?? null, environment),
        );
  return mergeReports([
    await checkSettings(installation, listenAddresses),
    withoutAuditDamage(site.report),
    folderReport,
    ...databaseReports,
    ...checkHost({
      folder,
      isService,
      listenAddresses,
      pid: site.pid,
      now: wallClock(),
      warningDays: site.warningDays ?? settings.expiryWarningDays,
    }),
  ]);
}

/** The audit log was checked just now; the server may know of damage that was repaired since. */
const withoutAuditDamage = ({ findings, passed }: HealthReport): HealthReport => ({
  findings: findings.filter(({ code }) => code !== "audit_damaged"),
  passed,
});

/** If a server serves the same appliance from another folder, commands do not change this one. */
async function checkCopy(folder: string, environment: Environment): Promise<HealthReport> {
  const refusal = await findCopyRefusal(folder, environment);
  if (refusal === null) return NOTHING;
  return findingReport("copy_served", "warning", describeRefusal(refusal));
}

async function checkSettings(
  { settings, settingsError: fault, config }: Installation,
  listenAddresses: readonly ListenAddress[],
): Promise<HealthReport> {
  const refusal = fault ?? (await findStartRefusal(settings, listenAddresses));
  if (refusal !== null) return findingReport("settings_invalid", "error", describeRefusal(refusal));
  return config === null
    ? NOTHING
    : passedReport("settings", `The settings in ${config} are valid`);
}

const describeRefusal = ({
  message,
  hint,
}: {
  readonly message: string;
  readonly hint: string;
}) => ({
  summary: capitalize(message),
  remedy: capitalize(hint),
});

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

const NOTHING: HealthReport = { findings: [], passed: [] };

interface Site {
  /** Of the running server; null: no server is running. */
  readonly pid: number | null;
  /** Absent: not known, because there was no status. */
  readonly warningDays?: number;
  /** The id of the appliance; absent: not known. */
  readonly appliance?: string;
  readonly report: HealthReport;
}

const NO_SITE: Site = { pid: null, report: NOTHING };

/** A host on standby has no status of the site, but findings of its own. */
async function readStatus({ admin }: AdminClient): Promise<Site> {
  try {
    const status = await unwrapReply(admin.status.get());
    return {
      pid: status.pid === process.pid ? null : status.pid,
      warningDays: status.expiry_warning_days,
      appliance: status.appliance.id,
      report: selectServerPart(parseReport(status)),
    };
  } catch (error) {
    if (!isStandbyRefusal(error)) throw error;
    const { pid = null, findings = [], passed_checks = [] } = await unwrapReply(admin.pair.get());
    return { pid, report: selectServerPart(parseReport({ findings, passed_checks })) };
  }
}

/** What the server itself reports; without a server, what it would report. */
async function readSite({ settings, environment }: Installation): Promise<Site> {
  try {
    return await withAdminClient(settings, { environment }, readStatus);
  } catch (error) {
    // The checks of the folder have already reported this, with more details.
    const refusal = findFolderError(error);
    if (refusal?.needsOperator === true) return NO_SITE;
    const message = error instanceof Failure ? error.message : refusal?.message;
    if (error instanceof Failure && error.code === "storage_failed") {
      const report = findingReport("disk_failed", "error", {
        summary: capitalize(error.message),
        remedy: "Check the disk, or the network to it; the server's log says more",
      });
      return { pid: null, report };
    }
    const isExpected = error instanceof Failure || refusal?.code === "folder_in_use";
    if (!isExpected || message === undefined) throw error;
    const report = findingReport("server_unreachable", "warning", {
      summary: capitalize(message),
      remedy: "Try again soon: the server may still be starting",
      command: "berth status",
    });
    return { pid: null, report };
  }
}

const unusable = (summary: string, remedy: string, command: string | null = null) => [
  findingReport("on_event_unusable", "warning", { summary, remedy, command }),
];

const OTHERS_CAN_WRITE = 0o022;

/** Checks, as the owner of the data folder, whether the program of `on_event` can be run. */
function checkEventProgram(onEvent: readonly string[], isService: boolean): HealthReport[] {
  const [program] = onEvent;
  if (program === undefined || !program.startsWith("/")) return [];
  const path = quoteIfNeeded(program);
  if (isService && isHiddenByUnit(program)) {
    return unusable(
      `The service cannot run ${program} of on_event`,
      "Its unit hides home folders, /tmp and /var/tmp: move the program, for example to " +
        "/usr/local/bin",
    );
  }
  try {
    const { mode } = statSync(program);
    accessSync(program, constants.X_OK);
    if ((mode & OTHERS_CAN_WRITE) !== 0) {
      return unusable(
        `Other users can change ${program}, which the server runs (on_event)`,
        "Let only its owner write to it",
        `chmod go-w ${path}`,
      );
    }
    if (statSync(program).isFile()) {
      return [passedReport("notifications", `${program} can be run for events`)];
    }
    return unusable(`${program} of on_event is no file`, "Set on_event to a program");
  } catch (error) {
    const code = errorCode(error);
    if (code === "EACCES") {
      return unusable(
        `The server may not run ${program} of on_event (EACCES)`,
        "Make it executable for the user of the server",
        `chmod 755 ${path}`,
      );
    }
    if (code === null) throw error;
    return unusable(
      `${program} of on_event cannot be run (${code})`,
      "Set on_event to a program that exists",
    );
  }
}

/**
 * Checks the database of a pair as a start does, and changes nothing. A running server reports what
 * it finds itself.
 */
async function checkPairDatabase(
  settings: ServeSettings,
  appliance: string | null,
  environment: Environment,
): Promise<HealthReport[]> {
  const pair = readPairOptions(settings);
  if (pair === null) return [];
  try {
    const options = { ...pair, ...readPasswordSources(environment) };
    const database = await checkPairLog(options, appliance);
    const findings = databaseFindings({ database });
    if (findings.length > 0) return [{ findings, passed: [] }];
    const { version, server } = database;
    return [passedReport("pair_database", `PostgreSQL ${version} at ${server} can keep the log`)];
  } catch (error) {
    const refusal = findFolderError(error);
    if (refusal === null) throw error;
    return [
      findingReport("pair_database_refused", "error", {
        summary: capitalize(refusal.message),
        remedy: capitalize(refusal.hint),
      }),
    ];
  }
}
