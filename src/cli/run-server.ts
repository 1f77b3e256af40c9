import type { DataFolderKind } from "../domain/state.ts";
import type { Services } from "../http/app.ts";
import type { Listener } from "../http/server.ts";
import { wallClock } from "../platform/clock.ts";
import { log } from "../platform/log.ts";
import { ServerSignals } from "../platform/signals.ts";
import { canServe } from "../platform/supported-platforms.ts";
import { ServiceManager } from "../platform/service-manager.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import type { AuditFinding } from "../store/audit/audit-health.ts";
import { FolderRefused } from "../store/refusal.ts";
import type { StoreStatus } from "../store/store-options.ts";
import { ApplianceClaim } from "./appliance-claim.ts";
import { openAppliance } from "./appliance.ts";
import { EXIT_OK, Failure, getStringFlag, type FlagValues } from "./command.ts";
import { createRunningServer, type BoundListener } from "./maintenance/running-server.ts";
import {
  formatBoundAddress,
  listenOnAdminSocket,
  probeAddresses,
  servePlain,
  serveTls,
} from "./listeners.ts";
import { readSlotCaps, listExposures } from "./access-policy.ts";
import { DEFAULT_AUDIT_BUDGET } from "./settings.ts";
import { readStartSettings } from "./start-checks.ts";
import { print, printWarning } from "./terminal.ts";
import { certificateView } from "./tls-files.ts";

export interface ServerContext extends Services {
  /** The address applications use, as a URL. */
  readonly url: string;
  readonly tlsUrl: string | null;
  readonly folder: string;
}

/** Before anything is made or touched. */
export function refuseUnsupportedPlatform({ platform }: FlagValues, kind: DataFolderKind): void {
  if (canServe(kind, platform)) return;
  throw new Failure(
    `berth ${kind === "site" ? "serve" : "demo"} requires Linux: its file locks do not work on other systems`,
    "the vendor's desk works on this system: berth help vendor init",
  );
}

/** The runtime has heeded them before any code of ours: a debugger could read every secret. */
const DEBUGGERS = ["BUN_INSPECT", "BUN_INSPECT_CONNECT_TO"];

export function refuseDebugger({ environment }: FlagValues): void {
  const name = DEBUGGERS.find((one) => environment[one] !== undefined);
  if (name === undefined) return;
  throw new Failure(
    `${name} is set: a debugger could read and change everything in this process`,
    `unset ${name} and start the server again`,
  );
}

/** Opens the folder, listens, lets `ready` speak, and runs until it is told to stop. */
export async function runServer(
  given: FlagValues,
  folder: string,
  kind: DataFolderKind,
  prepare: (appliance: Services) => Promise<void>,
  ready: (server: ServerContext) => Promise<void>,
): Promise<number> {
  const signals = new ServerSignals();
  const manager = new ServiceManager(given.environment);
  const { plain, tls, policy } = readStartSettings(given, folder, kind);
  // A port that cannot be had must not leave a new data folder behind.
  await probeAddresses([plain, tls]);
  const claim = new ApplianceClaim(folder, given.environment);
  const appliance = await openAppliance({
    claim: (key) => claim.acquire(key),
    folder,
    identityName: getStringFlag(given, "identity"),
    kind,
    create: true,
    holder: "server",
    migrateAtOnce: true,
    keepMonths: Number(getStringFlag(given, "audit-keep-months") ?? 0),
    caps: readSlotCaps(given),
    auditBudget: Number(getStringFlag(given, "audit-budget") ?? DEFAULT_AUDIT_BUDGET),
  });
  const { operations, access } = appliance;
  const retired = operations.findRetirement();
  if (retired !== null) {
    await operations.close();
    throw new FolderRefused(
      `${folder} was moved to another host on ${rfc3339(retired.at)} and no longer grants licenses`,
      "run the server on that host; to cancel the move, run berth move in FILE here, and nowhere else",
    );
  }
  const bound: BoundListener[] = [];
  const served = createRunningServer(given, folder, bound, (found) =>
    appliance.auditMaintenance.setFinding(found),
  );
  const services: Services = {
    ...appliance,
    runningServer: served,
    exposures: () => listExposures(given, policy, access),
    certificate: () => tls && certificateView(tls.certificate, wallClock()),
  };
  const listeners: Listener[] = [];
  try {
    for (const note of operations.health().notes) printWarning(note);
    // First: what ended by the record's time stays ended when the clock is followed back.
    await access.persistExpiredTokens();
    // Before anybody is served: a clock that was put right while this was off is followed at once.
    await appliance.timekeeping.tick();
    served.removeLeftovers();
    await prepare(appliance);
    const overPlain = servePlain({ ...plain, services, policy });
    listeners.push(overPlain);
    bound.push({ address: formatBoundAddress(plain, overPlain), tls: false });
    const overTls = tls && serveTls(services, policy, tls);
    if (overTls !== null) listeners.push(overTls);
    if (tls !== null && overTls !== null) {
      bound.push({ address: formatBoundAddress(tls, overTls), tls: true });
    }
    const socket = listenOnAdminSocket(services, folder, policy.logMode, given.environment);
    if (socket !== null) listeners.push(socket);
    const [url, tlsUrl] = [overPlain.address, overTls?.address ?? null];
    await ready({ ...services, url, tlsUrl, folder });
    signals.onReload(overTls?.reload ?? nothingToReload);
    manager.notifyReady(`serving on ${url}${tlsUrl === null ? "" : ` and ${tlsUrl}`}`);
    await signals.stopRequested;
    manager.notifyStopping();
    print("stopping");
  } finally {
    signals.onReload(() => log.info("reload ignored: the server is stopping"));
    await Promise.all(listeners.map((listener) => listener.stop()));
    served.stop();
    appliance.timekeeping.stop();
    await operations.close();
    claim.release();
    manager.stopWatchdog();
  }
  reportIncompleteCheckpoint(folder, operations.health(), appliance.auditMaintenance.finding);
  print("stopped");
  return EXIT_OK;
}

/** Nothing is lost by it, but the state is not everything, and an operator may count on that. */
function reportIncompleteCheckpoint(
  folder: string,
  { fault, folderChange, checkpointError }: StoreStatus,
  audit: AuditFinding | null,
): void {
  // That may be lost.
  if (folderChange !== null) throw new Failure(folderChange.message, folderChange.hint);
  if (fault === null && checkpointError === null) return;
  const full =
    fault?.isFileLimit === true ? "a file reached the size limit (ulimit -f)" : "the disk is full";
  const why = fault?.code === "storage_full" ? full : (checkpointError ?? "the disk failed");
  const safe = "no acknowledged change is lost: the next start reads the rest from the journal";
  throw new Failure(
    `stopped, but state.json in ${folder} is not up to date: ${why}`,
    audit === null ? safe : `${safe}; ${audit.hint}`,
  );
}

const nothingToReload = (): void =>
  log.info("nothing to reload: no certificate is in use, and settings are read only at the start");
