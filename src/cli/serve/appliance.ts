import { join } from "node:path";
import type { SlotCaps } from "../../domain/model/rule-context.ts";
import type { DataFolderKind } from "../../domain/model/state.ts";
import type { Services, SiteSettings } from "../../http/services.ts";
import { RequestDurations } from "../../http/metrics/request-durations.ts";
import { StatusStreams } from "../../http/routes/page/status-streams.ts";
import type { HardwareComponent } from "../../license/documents/hardware.ts";
import type { PrivateKey } from "../../license/documents/keys.ts";
import { findUsageLag } from "../../operations/usage/check-usage-files.ts";
import { UsageUpdates } from "../../operations/usage/usage-updates.ts";
import type { PairOptions } from "../../operations/pair/open-log.ts";
import { wire, type FolderChange, type WireOptions } from "../../operations/wire.ts";
import { ApplianceClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { readBootClock } from "../../platform/system/boot-clock.ts";
import { readMachineComponents } from "../../platform/system/machine.ts";
import { log } from "../../platform/log.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import { becomeFolderOwner } from "../../platform/files/owner.ts";
import { builtInTrust } from "../../platform/embedded/version.ts";
import { runCheckpoint } from "../../operations/folder/checkpoint.ts";
import { checkpointInChild } from "./checkpoint-child.ts";
import { describeCommandLine } from "./command-line.ts";
import { EXIT_FAILURE, Failure, EXIT_OK } from "../frame/command.ts";
import { defaultValues } from "../frame/define-command.ts";
import { describeUnexpected, systemCode } from "../frame/system-errors.ts";
import { printError } from "../frame/terminal.ts";
import {
  readPasswordSources,
  readSystemdCredential,
  readSystemdCredentialText,
} from "./service-credentials.ts";
import { settings } from "./settings.ts";
import { err, ok } from "../../domain/result.ts";
import {
  inspectBetweenRequests,
  type RulesInspector,
} from "../../operations/rules/rules-inspector.ts";
import type { Environment } from "../../platform/environment.ts";
import type { InspectedRules } from "../../rules/inspect-rules.ts";
import type { SiteFacts } from "../../rules/site-findings.ts";
import type { RulesJobInput } from "../commands/rules/rules-job.ts";
import { option } from "../frame/flags.ts";
import { envName } from "../frame/options.ts";
import { runChildCommand } from "../maintenance/child-command.ts";
import { createHistoryProcess } from "../maintenance/history-process.ts";
import { toMaintenanceFault } from "../maintenance/maintenance-fault.ts";
import { withoutBerthVariables } from "../maintenance/maintenance.ts";

export interface ApplianceOptions {
  readonly folder: string;
  /** A name to bind licenses to instead of the hardware; null: the hardware itself. */
  readonly identityName: string | null;
  /** Null: a folder of either kind is accepted. */
  readonly kind: DataFolderKind | null;
  readonly create: boolean;
  /** Who holds the lock: a server as long as it runs, a command only briefly. */
  readonly holder: WireOptions["holder"];
  /** Whether a folder of an older format is migrated now; else with the next change. */
  readonly migrateAtOnce?: boolean;
  /** Months of the audit log to keep now, besides the current one; 0: all of it. */
  readonly keepMonths?: () => number;
  /** Months of usage to keep now, besides the current one; default: that of the setting. */
  readonly usageMonths?: () => number;
  readonly caps?: () => SlotCaps;
  readonly maxPlacesPerCaller?: () => number;
  /** How many MiB an hour one address may add to the audit log now; 0: no limit. */
  readonly auditBudget?: () => number;
  /** Default: the default settings. */
  readonly siteSettings?: () => SiteSettings;
  /** Claims the appliance for this server; throws if another server has it. */
  readonly claim?: (key: PrivateKey) => Promise<void>;
  /** Absent: this host is alone. */
  readonly pair?: PairSettings;
}

export type PairSettings = Omit<PairOptions, "passwordCredential" | "pgpassFile">;

/** The socket through which commands reach a running server. */
export const socketPath = (folder: string): string => join(folder, "berth.sock");

/** Milliseconds for waiting clients to receive their 503 before the process exits. */
const EXIT_DELAY = 250;

/** The default folder is beside the program, where many users may not write. */
function createDataFolder(folder: string): void {
  try {
    realDisk.makeFolder(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") throw error;
    const hint = "choose a folder where you may write with --data DIR";
    throw new Failure(describeUnexpected(error).message, hint, code);
  }
}

/** Opens the data folder with the real disk, clock and hardware. */
export async function openAppliance(options: ApplianceOptions): Promise<Services> {
  const { folder, identityName, kind, create, holder, keepMonths = keepAll, caps } = options;
  const { usageMonths = () => defaultValues(settings).usageMonths } = options;
  const passwordSources = readPasswordSources(process.env);
  becomeFolderOwner(folder);
  if (create) createDataFolder(folder);
  const usageUpdates = new UsageUpdates(
    holder === "server" ? findUsageLag(realDisk, folder) : null,
  );
  const { operations } = await wire({
    disk: realDisk,
    folder,
    kind,
    create,
    holder,
    migrateOnOpen: options.migrateAtOnce ?? false,
    // The hosts of a pair agree on terms by a clock that continues while a machine sleeps.
    clock: options.pair ? new ApplianceClock(readBootClock) : new ApplianceClock(),
    hardware: hardwareComponents(identityName, kind),
    ...(caps && { caps }),
    ...(options.maxPlacesPerCaller && { maxPlacesPerCaller: options.maxPlacesPerCaller }),
    ...(options.auditBudget && { auditBudget: options.auditBudget }),
    builtInTrust,
    serviceCredentials: {
      sealingKey: readSystemdCredential("berth-sealing-key"),
      apiKey: readSystemdCredentialText("berth-api-key"),
      sharedKey: readSystemdCredentialText("berth-shared-key"),
    },
    ...(options.claim && { claim: options.claim }),
    ...(options.pair && { pair: { ...options.pair, ...passwordSources } }),
    async checkpoint(path, openSegment, stopping, noteProgress) {
      const months = { keepMonths: keepMonths(), usageMonths: usageMonths() };
      const onUsageUpdate = usageUpdates.record;
      // Nobody else waits for a command, and it ends after its checkpoint: it needs no process.
      await (holder === "command"
        ? runCheckpoint(path, { ...months, openSegment, holderPid: process.pid, onUsageUpdate })
        : checkpointInChild(path, openSegment, stopping, {
            ...months,
            onUsageUpdate,
            noteProgress,
          }));
    },
    // Nobody else waits for a command.
    ...(holder === "server" && {
      inspectRules: createRulesInspector(process.env),
      createHistoryProcess: (history) => createHistoryProcess(folder, process.env, history),
    }),
    usageUpdates,
    onFatal: exitAfterFatalError,
  });
  return {
    ...operations,
    streams: new StatusStreams(),
    requestDurations: new RequestDurations(),
    commandLine: describeCommandLine(folder),
    // There is no listener yet.
    serverAccess: () => null,
    fullCheck: () => null,
    certificate: () => null,
    siteSettings: options.siteSettings ?? getDefaultSettings,
    runningServer: null,
  };
}

const getDefaultSettings = (): SiteSettings => defaultValues(settings);

const keepAll = (): number => 0;

/** Exits after a delay in which waiting clients receive their error. */
function exitAfterFatalError(error: Error, changed: FolderChange | null): void {
  if (changed === null) {
    log.error("disk failure: stopping; the next start replays the journal", { error });
  } else {
    const { message: finding, hint } = changed;
    log.error("the data folder was changed by another process: stopping", { finding, hint });
  }
  setTimeout(() => {
    if (changed !== null) printError(changed.message, changed.hint);
    process.exit(EXIT_FAILURE);
  }, EXIT_DELAY);
}

/** The components of this machine, or the name that replaces them. */
export function hardwareComponents(
  identityName: string | null,
  kind: DataFolderKind | null,
): readonly HardwareComponent[] {
  if (identityName !== null) return [{ kind: "named", value: identityName.normalize("NFC") }];
  const components = readMachineComponents();
  // A demo must also run in a container in which no hardware can be identified.
  const needsName = components.length === 0 && kind === "demo";
  return needsName ? [{ kind: "named", value: "demo" }] : components;
}

/** Such a text is read in at most 14 ms, whatever it says; 1 MiB takes up to 1.8 seconds. */
const MAX_LENGTH_IN_SERVER = 8_192;

const NEVER = new AbortController().signal;

/** Reads a long text in a process of its own, so that no request waits for it. */
function createRulesInspector(environment: Environment): RulesInspector {
  const childEnvironment = {
    ...withoutBerthVariables(environment),
    [envName(option.json)]: "true",
  };
  return async (text, site, signal) => {
    if (text.length <= MAX_LENGTH_IN_SERVER) return inspectBetweenRequests(text, site, signal);
    const input = JSON.stringify(encodeInput(text, site));
    const exit = await runChildCommand(["rules-job"], childEnvironment, signal ?? NEVER, input);
    if (!exit.ok) return exit;
    const { exitCode, stdout } = exit.value;
    if (exitCode !== EXIT_OK) return err(toMaintenanceFault(exit.value));
    // Thousands of rules or findings take long enough for a step of their own.
    return ok(await runBetweenRequests(() => JSON.parse(stdout) as InspectedRules));
  };
}

const encodeInput = (text: string, { clientAuth, products }: SiteFacts): RulesJobInput => ({
  text,
  clientAuth,
  products: [...products].map(([code, { slots, features }]) => [
    code,
    { slots, features: [...features] },
  ]),
});
