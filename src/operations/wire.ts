import type { SlotCaps } from "../domain/model/rule-context.ts";
import type { DataFolderKind } from "../domain/model/state.ts";
import type { Instant } from "../domain/time.ts";
import type { HardwareComponent } from "../license/documents/hardware.ts";
import type { PrivateKey } from "../license/documents/keys.ts";
import { signLease } from "../license/documents/lease.ts";
import type { ApplianceClock } from "../platform/clock.ts";
import type { Disk } from "../platform/files/disk.ts";
import { isHangingDisk } from "../store/journal/storage-fault.ts";
import { FolderChanged } from "../store/folder/folder-changed.ts";
import type { LockHolder } from "../store/folder/lock.ts";
import { EditedSettingsFile } from "../store/folder/edited-settings-file.ts";
import { AccessFile } from "../store/secrets/access-file.ts";
import { SealedFile } from "../store/secrets/sealed-file.ts";
import type { LogFolder, StoreOptions } from "../store/store-options.ts";
import { Store } from "../store/store.ts";
import { UsageReader } from "./usage/usage-reader.ts";
import type { HistoryProcess } from "./usage/history-process.ts";
import { Reports } from "./usage/reports.ts";
import { openHistory, type SiteHistory } from "./usage/site-history.ts";
import { UsageUpdates } from "./usage/usage-updates.ts";
import { AccessControl } from "./access/access-control.ts";
import { Airgap } from "./requests/airgap.ts";
import { ApplianceStatus } from "./health/appliance-status.ts";
import { AuditBudget } from "./audit/audit-budget.ts";
import { AuditLogReader } from "./audit/audit-log-reader.ts";
import { AuditMaintenance } from "./audit/audit-maintenance.ts";
import { createLeadership } from "./pair/create-leadership.ts";
import type { Leadership } from "./pair/leadership.ts";
import { requireMember } from "./pair/require-member.ts";
import { createLocalPublisher, type FilePublisher } from "./pair/file-publisher.ts";
import { PairMembership } from "./pair/pair-membership.ts";
import { createHostHeadReader } from "./pair/host-heads.ts";
import { openPairLog, refuseWithoutLog, type PairLog, type PairOptions } from "./pair/open-log.ts";
import { createSharedFiles, type SharedFileName, type SharedFiles } from "./pair/shared-files.ts";
import { TimeReceiver } from "./pair/time-receiver.ts";
import { CloudCredentials } from "./appliance/cloud-credentials.ts";
import { combineObservers } from "./combine-observers.ts";
import { CommandRunner } from "./command-runner.ts";
import type { DemandCounts } from "./demand/demand-counts.ts";
import { Consumption } from "./consumption/consumption.ts";
import { Features } from "./features/features.ts";
import { createSignatureCheck } from "./folder/folder-checks.ts";
import { HostMove } from "./appliance/host-move.ts";
import { Identity } from "./appliance/identity.ts";
import { Licensing } from "./licenses/licensing.ts";
import { ApplianceMetrics } from "./metrics/appliance-metrics.ts";
import { MetricsReader } from "./metrics/metrics-reader.ts";
import { GrantEstimator } from "./queue/grant-estimator.ts";
import { RecordedSessions } from "./queue/recorded-sessions.ts";
import { SessionLengths } from "./queue/session-lengths.ts";
import { QueueDispatcher } from "./queue/queue-dispatcher.ts";
import { SlotQueue } from "./queue/slot-queue.ts";
import type { RulesInspector } from "./rules/rules-inspector.ts";
import { SharingRules } from "./rules/sharing-rules.ts";
import { SettingChanges } from "./settings/setting-changes.ts";
import { Slots } from "./slots/slots.ts";
import { Timekeeping } from "./clock/timekeeping.ts";
import { UsageStatements } from "./statements/usage-statements.ts";
import { VendorTrust } from "./trust/vendor-trust.ts";

/** What Berth can do with an open data folder: one member for each family of operations. */
export interface ApplianceOperations {
  readonly slots: Slots;
  readonly queue: SlotQueue;
  readonly features: Features;
  readonly consumption: Consumption;
  readonly licensing: Licensing;
  readonly vendorTrust: VendorTrust;
  readonly usageStatements: UsageStatements;
  readonly airgap: Airgap;
  readonly credentials: CloudCredentials;
  readonly identity: Identity;
  readonly timekeeping: Timekeeping;
  readonly hostMove: HostMove;
  readonly access: AccessControl;
  readonly settingChanges: SettingChanges;
  readonly sharingRules: SharingRules;
  readonly applianceStatus: ApplianceStatus;
  readonly usage: UsageReader;
  readonly usageUpdates: UsageUpdates;
  readonly demandCounts: DemandCounts;
  readonly reports: Reports;
  /** Null: no server runs, and this process computes what reads the whole audit log. */
  readonly historyProcess: HistoryProcess | null;
  readonly metrics: MetricsReader;
  readonly grantEstimator: GrantEstimator;
  readonly auditLog: AuditLogReader;
  readonly auditMaintenance: AuditMaintenance;
  /** Null: this host is alone. */
  readonly leadership: Leadership | null;
  readonly pairMembership: PairMembership;
  readonly sharedFiles: SharedFiles | null;
  /** Writes what is only in memory, and closes the folder. */
  readonly close: () => Promise<void>;
}

/** Secrets that the service manager passes to the process; null: not passed. */
export interface ServiceCredentials {
  readonly sealingKey: Uint8Array | null;
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

const NO_CREDENTIALS: ServiceCredentials = { sealingKey: null, apiKey: null, sharedKey: null };

/** What another process did to an open data folder, and what the operator can do. */
export interface FolderChange {
  readonly message: string;
  readonly hint: string;
}

export interface WireOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** Null: a folder of either kind is accepted. */
  readonly kind: DataFolderKind | null;
  readonly create: boolean;
  /** Who holds the lock: a server as long as it runs, a command only briefly. */
  readonly holder: LockHolder;
  /** Whether a folder of an older format is migrated now; else with the next change. */
  readonly migrateOnOpen?: boolean;
  readonly clock: ApplianceClock;
  /** Milliseconds of a clock that never jumps; default: that of the process. */
  readonly monotonicMs?: () => number;
  /** The same kind of clock, by which places in a queue lapse; default: that of the process. */
  readonly contactClock?: () => number;
  /** The components of the machine to which licenses are bound. */
  readonly hardware: readonly HardwareComponent[];
  /** Called with each command: the operator can change them while the server runs. */
  readonly caps?: () => SlotCaps;
  /** Places in queues that one address, and one person, may have now. */
  readonly maxPlacesPerCaller?: () => number;
  /** How many MiB an hour one address may add to the audit log now; 0: no limit. */
  readonly auditBudget?: () => number;
  /** The trust document of a vendor's own build; null: the site chooses its vendors. */
  readonly builtInTrust?: string | null;
  readonly serviceCredentials?: ServiceCredentials;
  /** Claims the appliance for this server; throws if another server has it. */
  readonly claim?: (key: PrivateKey) => Promise<void>;
  /** Absent: this host is alone. */
  readonly pair?: PairOptions;
  /** Opens the log of the pair; default: the database that the options of the pair name. */
  readonly openLog?: typeof openPairLog;
  readonly checkpoint: StoreOptions["checkpoint"];
  /** Computes what reads the whole audit log; default: this process does. */
  readonly createHistoryProcess?: (history: SiteHistory) => HistoryProcess;
  /** How texts of sharing rules are read; default: in this process. */
  readonly inspectRules?: RulesInspector;
  /** Where `checkpoint` records how the update of the usage files ended. */
  readonly usageUpdates?: UsageUpdates;
  /** The disk failed, or the folder was changed (`change`): answer requests, end the process. */
  readonly onFatal: (error: Error, change: FolderChange | null) => void;
}

/**
 * Opens a data folder and connects everything that works on it: for a server, for a command that
 * opens the folder itself, and for tests. Only tests use the store itself.
 */
export async function wire(
  options: WireOptions,
): Promise<{ readonly store: Store; readonly operations: ApplianceOperations }> {
  const { disk, folder, clock, builtInTrust = null, pair, openLog = openPairLog } = options;
  const { usageUpdates = new UsageUpdates(), contactClock = () => performance.now() } = options;
  const { sealingKey, ...providedKeys } = options.serviceCredentials ?? NO_CREDENTIALS;
  const identity = new Identity(disk, folder, options.hardware);
  const accessFile = new AccessFile(disk, folder);
  const metrics = new ApplianceMetrics();
  const sessionLengths = new SessionLengths();
  const dispatcher = new QueueDispatcher();
  const opened: { log: PairLog | null } = { log: null };
  const findChangeFault = refuseWithoutLog();
  // Until this host leads.
  if (pair) clock.follow();
  const store = await Store.open({
    ...(pair && {
      async openLog(logFolder: LogFolder) {
        requireMember(logFolder.pair, { host: pair.host, ...identity.hashHardware() });
        return (opened.log = await openLog(pair, logFolder));
      },
    }),
    ...(!pair && { findChangeFault }),
    observer: combineObservers(metrics, sessionLengths, dispatcher, new TimeReceiver(clock)),
    disk,
    folder,
    kind: options.kind,
    create: options.create,
    holder: options.holder,
    migrateOnOpen: options.migrateOnOpen ?? false,
    identify: () => identity.create(),
    // Runs before anything is written: a folder that is refused stays unchanged.
    async recognize(appliance) {
      identity.open(appliance);
      accessFile.read();
      await options.claim?.(identity.key);
    },
    checkSignatures: createSignatureCheck(builtInTrust),
    isBound: (license) => identity.matchHardware(license).isMatch,
    clock: clock.now,
    jumps: clock.jumps,
    behind: clock.behind,
    ...(options.caps && { caps: options.caps }),
    ...(options.maxPlacesPerCaller && { maxPlacesPerCaller: options.maxPlacesPerCaller }),
    ...(options.monotonicMs && { monotonicMs: options.monotonicMs }),
    checkpoint: options.checkpoint,
    onFatal: (error) => options.onFatal(error, error instanceof FolderChanged ? error : null),
  });
  // Not the system clock: if it is set back, an expired token must not become valid again.
  const now = (): Instant =>
    store.peek(({ latestEventAt, clockJumps }) => clock.now(latestEventAt, clockJumps));
  const commands = new CommandRunner(store, new AuditBudget(options.auditBudget), metrics.refusals);
  if (options.holder === "server") dispatcher.attach({ store, now, contactClock });
  if (pair) dispatcher.pause();
  const grantEstimator = new GrantEstimator(new RecordedSessions(store, sessionLengths));
  const queue = new SlotQueue({ store, commands, dispatcher, estimator: grantEstimator });
  metrics.startSampling(() => ({ state: store.peek((state) => state), now: now() }));
  const leadership =
    pair && opened.log ? createLeadership(pair, opened.log, store, { identity, clock }) : null;
  const sharedFiles = opened.log && createSharedFiles(opened.log, identity.key, disk, folder);
  const side = { host: pair?.host ?? null, leadership, sharedFiles };
  const pairMembership = new PairMembership(store, identity, side);
  if (options.holder === "server" && leadership === null) {
    await pairMembership.refuseToServeAlone(folder);
  }
  const publisherOf = (name: SharedFileName): FilePublisher =>
    sharedFiles?.publisherOf(name) ??
    createLocalPublisher(() => {
      const { fault } = store.status();
      // The files would be waited for as long as the disk takes.
      return isHangingDisk(fault) ? fault : store.peek((state) => findChangeFault(state, null));
    });
  const sealedFile = new SealedFile(disk, folder, { key: sealingKey });
  const credentials = new CloudCredentials(store, sealedFile, providedKeys, publisherOf("keys"));
  const vendorTrust = new VendorTrust(store, builtInTrust);
  if (builtInTrust !== null && leadership === null)
    await vendorTrust.trustVendor(builtInTrust, "build");
  const timekeeping = new Timekeeping(store, clock, identity);
  const access = new AccessControl(store, accessFile, now, publisherOf("access"));
  const settingChanges = new SettingChanges(
    store,
    new EditedSettingsFile(disk, folder),
    publisherOf("settings"),
  );
  // Before all others: nothing is answered with an old access list.
  if (sharedFiles !== null) leadership?.addListener(sharedFiles);
  leadership?.addListener({
    async begin() {
      commands.restart();
      if (builtInTrust !== null) await vendorTrust.trustVendor(builtInTrust, "build");
    },
    finish: () => commands.recordRefusals(),
  });
  sharedFiles?.add({ access, keys: credentials, settings: settingChanges });
  const history = openHistory(store);
  const historyProcess = options.createHistoryProcess?.(history) ?? null;
  return {
    store,
    operations: {
      slots: new Slots(commands, store, queue, (lease) => signLease(lease, identity.key)),
      queue,
      features: new Features(commands),
      consumption: new Consumption(commands),
      licensing: new Licensing(store, identity, credentials, createHostHeadReader(leadership, now)),
      vendorTrust,
      usageStatements: new UsageStatements(store, identity, historyProcess),
      airgap: new Airgap(store, identity),
      credentials,
      identity,
      timekeeping,
      hostMove: new HostMove(store, () => commands.recordRefusals()),
      access,
      sharingRules: new SharingRules(store, options.inspectRules),
      settingChanges,
      applianceStatus: new ApplianceStatus(store, folder),
      usage: new UsageReader(store, usageUpdates),
      usageUpdates,
      demandCounts: commands.demandCounts,
      reports: new Reports(history),
      historyProcess,
      metrics: new MetricsReader({
        store,
        timekeeping,
        identity,
        metrics,
        demand: commands.demandCounts,
        leadership,
        pairMembership,
      }),
      grantEstimator,
      auditLog: new AuditLogReader(store),
      auditMaintenance: new AuditMaintenance(store),
      leadership,
      pairMembership,
      sharedFiles,
      async close() {
        await sharedFiles?.stop();
        // While this host leads: the last uses go to the other one.
        if (sharedFiles !== null) await access.close();
        await leadership?.stop();
        queue.stop();
        dispatcher.stop();
        timekeeping.stop();
        metrics.stop();
        await commands.close();
        await access.close();
        await store.close();
        await opened.log?.close();
      },
    },
  };
}
