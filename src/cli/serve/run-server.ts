import type { DataFolderKind } from "../../domain/model/state.ts";
import type { Services } from "../../http/services.ts";
import type { Listener, AccessPolicy } from "../../http/server.ts";
import { wallClock } from "../../platform/clock.ts";
import { reserveDescriptors } from "../../platform/files/descriptor-reserve.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { log } from "../../platform/log.ts";
import { ServerSignals } from "../../platform/system/signals.ts";
import { canServe } from "../../platform/system/supported-platforms.ts";
import { ServiceManager } from "../../platform/system/service-manager.ts";
import { isDiskFault, type StorageStatus } from "../../operations/health/appliance-status.ts";
import type { AuditFinding } from "../../operations/audit/audit-maintenance.ts";
import { ApplianceClaim } from "../../operations/folder/appliance-claim.ts";
import { refuseOpenRequest } from "../../operations/pair/pending-request.ts";
import { readEditedSettings } from "../../operations/settings/setting-changes.ts";
import { openAppliance } from "./appliance.ts";
import { readPairOptions } from "./pair-options.ts";
import type { Environment } from "../../platform/environment.ts";
import { EXIT_OK, Failure } from "../frame/command.ts";
import type { SetOption } from "../frame/define-command.ts";
import { createRunningServer, type BoundListener } from "../maintenance/running-server.ts";
import {
  formatBoundAddress,
  listenOnAdminSocket,
  probeAddresses,
  serveMetrics,
  servePlain,
  serveTls,
} from "./listeners.ts";
import { FullCheckSchedule } from "../maintenance/full-check.ts";
import { LiveSettings } from "./live-settings.ts";
import { createNotifier } from "./notifications.ts";
import type { ServeSettings } from "./settings.ts";
import { readStartSettings } from "./start-checks.ts";
import { print, printWarning } from "../frame/terminal.ts";
import { certificateView } from "../tls/tls-files.ts";
import type { AccessControl } from "../../operations/access/access-control.ts";
import type { ServerAccess } from "../../operations/health/exposures.ts";
import { formatListenAddress } from "./listen-address.ts";

export interface ServerContext extends Services {
  /** The address applications use, as a URL. */
  readonly url: string;
  readonly tlsUrl: string | null;
  readonly folder: string;
  /** With what was edited on the page. */
  readonly settings: ServeSettings;
}

/** Called before anything is created or changed. */
export function refuseUnsupportedPlatform(platform: NodeJS.Platform, kind: DataFolderKind): void {
  if (canServe(kind, platform)) return;
  throw new Failure(
    kind === "site"
      ? "berth serve requires Linux: its file locks do not work on other systems"
      : "berth demo requires Linux or macOS: its file locks do not work on other systems",
    "the vendor's desk works on this system: berth help vendor init",
  );
}

/** The runtime obeys them before our code runs, and a debugger could read every secret. */
const DEBUGGER_VARIABLES = ["BUN_INSPECT", "BUN_INSPECT_CONNECT_TO"];

export function refuseDebugger(environment: Environment): void {
  const name = DEBUGGER_VARIABLES.find((variable) => environment[variable] !== undefined);
  if (name === undefined) return;
  throw new Failure(
    `${name} is set: a debugger could read and change everything in this process`,
    `unset ${name} and start the server again`,
  );
}

export interface ServerOptions {
  readonly kind: DataFolderKind;
  readonly settings: ServeSettings;
  /** The options as they were written, for an administrator who asks the server for them. */
  readonly setOptions: readonly SetOption[];
  /** The settings file; null: there is none. */
  readonly config: string | null;
  readonly environment: Environment;
  /** Called when the folder is open, before the first request. */
  readonly prepare?: (appliance: Services) => Promise<void>;
  readonly ready: (server: ServerContext) => Promise<void>;
}

/** Opens the folder, listens, calls `ready`, and runs until a signal stops it. */
export async function runServer(options: ServerOptions): Promise<number> {
  const { kind, settings, environment, prepare, ready } = options;
  const { data: folder } = settings;
  const live = new LiveSettings(options);
  const signals = new ServerSignals();
  const manager = new ServiceManager(environment);
  const { plain, tls, metrics, policy } = readStartSettings(live, kind);
  // A port that is not available must not leave a new data folder behind.
  await probeAddresses([plain, tls, metrics]);
  refuseOpenRequest(realDisk, folder);
  live.replaceEdited(readEditedSettings(folder));
  const pair = readPairOptions(settings);
  const claim = new ApplianceClaim(folder, environment, printWarning);
  const appliance = await openAppliance({
    // The log of a pair keeps its hosts from answering at the same time, also on one machine.
    ...(pair === null && { claim: (key) => claim.acquire(key) }),
    folder,
    identityName: settings.identity,
    kind,
    create: true,
    holder: "server",
    migrateAtOnce: true,
    keepMonths: () => live.current.auditKeepMonths,
    usageMonths: () => live.current.usageMonths,
    caps: () => ({ perUser: live.current.maxSlotsPerUser, perPeer: live.current.maxSlotsPerPeer }),
    maxPlacesPerCaller: () => live.current.maxPlacesPerCaller,
    auditBudget: () => live.current.auditBudget,
    ...(pair && { pair: { ...pair, isStopping: () => signals.isStopRequested } }),
    siteSettings: () => live.current,
  });
  const { applianceStatus, hostMove, access } = appliance;
  try {
    hostMove.refuseIfMovedAway(folder);
  } catch (error) {
    await appliance.close();
    throw error;
  }
  reserveDescriptors();
  const bound: BoundListener[] = [];
  const overview = await applianceStatus.read();
  const runningServer = createRunningServer({
    ...options,
    createdAt: overview.ok ? overview.value.createdAt : wallClock(),
    live,
    settingChanges: appliance.settingChanges,
    listeners: bound,
    reportAuditFinding: (finding) => appliance.auditMaintenance.setFinding(finding),
  });
  const fullCheck = new FullCheckSchedule({
    doctor: runningServer.doctor,
    now: () => appliance.timekeeping.view().now,
  });
  const notifier = createNotifier(live, () => services);
  const services: Services = {
    ...appliance,
    runningServer: { ...runningServer, doctor: fullCheck.run, notifier },
    serverAccess: () => describeServerAccess({ settings: live.current, policy, access }),
    fullCheck: () => fullCheck.last,
    certificate: () =>
      tls && certificateView(tls.certificate, wallClock(), live.current.expiryWarningDays),
  };
  const listeners: Listener[] = [];
  try {
    for (const note of applianceStatus.storageStatus().notes) printWarning(note);
    const { leadership, sharedFiles, settingChanges } = appliance;
    if (leadership === null) await beginToAnswer(appliance);
    settingChanges.onReplace((edited) => live.replaceEdited(edited));
    runningServer.removeLeftovers();
    await prepare?.(appliance);
    const plainListener = servePlain({ ...plain, services, policy });
    listeners.push(plainListener);
    bound.push({ address: formatBoundAddress(plain, plainListener), tls: false });
    const tlsListener = tls && serveTls(services, policy, tls);
    if (tlsListener !== null) listeners.push(tlsListener);
    if (tls !== null && tlsListener !== null) {
      bound.push({ address: formatBoundAddress(tls, tlsListener), tls: true });
    }
    if (metrics !== null) listeners.push(serveMetrics(services, policy, metrics));
    const socket = listenOnAdminSocket(services, folder, policy.logMode, environment);
    if (socket !== null) listeners.push(socket);
    const [url, tlsUrl] = [plainListener.address, tlsListener?.address ?? null];
    runningServer.backups.start();
    leadership?.addListener({
      begin: () => beginToAnswer(appliance),
      end() {
        appliance.queue.pause();
        appliance.streams.endAll();
      },
    });
    leadership?.start();
    sharedFiles?.start();
    await ready({ ...services, url, tlsUrl, folder, settings: live.current });
    signals.onReload(tlsListener?.reload ?? nothingToReload);
    manager.notifyReady(`serving on ${url}${tlsUrl === null ? "" : ` and ${tlsUrl}`}`);
    fullCheck.start();
    notifier.start();
    await signals.stopRequested;
    manager.notifyStopping();
    print("stopping");
  } finally {
    signals.onReload(() => log.info("reload ignored: the server is stopping"));
    runningServer.backups.stop();
    // Before the listeners: they wait for requests that are under way.
    appliance.queue.stop();
    appliance.historyProcess?.stop();
    // The other host of a pair answers from here on.
    await appliance.leadership?.stop();
    await Promise.all([notifier.stop(), ...listeners.map((listener) => listener.stop())]);
    fullCheck.stop();
    runningServer.stop();
    await appliance.close();
    claim.release();
    manager.stopWatchdog();
  }
  reportIncompleteCheckpoint(
    folder,
    applianceStatus.storageStatus(),
    appliance.auditMaintenance.finding,
  );
  print("stopped");
  return EXIT_OK;
}

/** Before the first request of a server, or of a host that begins to lead. */
async function beginToAnswer({ access, timekeeping, queue }: Services): Promise<void> {
  // First: what expired by the recorded time stays expired if the time is set back.
  await access.persistExpiries();
  // A clock that was corrected while the server was off counts now.
  await timekeeping.tick();
  queue.start();
}

/** Nothing is lost, but state.json is not up to date, and an operator may rely on that. */
function reportIncompleteCheckpoint(
  folder: string,
  { fault, folderChange, checkpointError, isStateMissing }: StorageStatus,
  audit: AuditFinding | null,
): void {
  // In this case changes may be lost.
  if (folderChange !== null) throw new Failure(folderChange.message, folderChange.hint);
  if (isStateMissing) {
    throw new Failure(
      `stopped, but ${folder}/state.json was removed while the server was running, and no older state is left`,
      "put the file back, or restore a backup with berth restore FILE",
    );
  }
  // A host of a pair that stops, or has no database, makes its checkpoint like any other.
  if (!isDiskFault(fault) && checkpointError === null) return;
  const fullReason =
    fault?.isFileLimit === true ? "a file reached the size limit (ulimit -f)" : "the disk is full";
  const reason =
    fault?.code === "storage_full" ? fullReason : (checkpointError ?? "the disk failed");
  const hint = "no acknowledged change is lost: the next start reads the rest from the journal";
  throw new Failure(
    `stopped, but state.json in ${folder} is not up to date: ${reason}`,
    audit === null ? hint : `${hint}; ${audit.hint}`,
  );
}

const nothingToReload = (): void =>
  log.info("nothing to reload: no certificate is in use, and settings are read only at the start");

interface AccessSources {
  readonly policy: AccessPolicy;
  readonly access: AccessControl;
  readonly settings: Pick<
    ServeSettings,
    "listen" | "listenTls" | "metricsListen" | "clientNetworks" | "adminNetworks"
  >;
}

/** How this server can be reached, and by whom: its settings, and whether a credential exists. */
const describeServerAccess = ({ policy, access, settings }: AccessSources): ServerAccess => ({
  isClaimed: access.isClaimed(),
  isDemo: policy.adminOpen,
  clientAuth: policy.clientAuth,
  allowsPlainCredentials: policy.allowPlain,
  clientNetworks: settings.clientNetworks,
  adminNetworks: settings.adminNetworks,
  plainHost: settings.listen.host,
  plainAddress: formatListenAddress(settings.listen),
  hasTls: settings.listenTls !== null,
  metrics: settings.metricsListen && {
    host: settings.metricsListen.host,
    address: formatListenAddress(settings.metricsListen),
  },
});
