import { join } from "node:path";
import type { SlotCaps, DataFolderKind } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import type { Services } from "../http/app.ts";
import { StatusStreams } from "../http/status-streams.ts";
import type { HardwareComponent } from "../license/hardware.ts";
import type { PrivateKey } from "../license/keys.ts";
import { signLease } from "../license/lease.ts";
import { AccessControl } from "../operations/access-control.ts";
import { Airgap } from "../operations/airgap.ts";
import { AuditBudget } from "../operations/audit-budget.ts";
import { AuditMaintenance } from "../operations/audit-maintenance.ts";
import { CloudCredentials } from "../operations/cloud-credentials.ts";
import { Identity } from "../operations/identity.ts";
import { Licensing } from "../operations/licensing.ts";
import { AuditLogReader } from "../operations/audit-log-reader.ts";
import { Timekeeping } from "../operations/timekeeping.ts";
import { Operations } from "../operations/operations.ts";
import { ApplianceClock } from "../platform/clock.ts";
import { realDisk } from "../platform/disk.ts";
import { readMachineComponents } from "../platform/machine.ts";
import { log } from "../platform/log.ts";
import { becomeFolderOwner } from "../platform/owner.ts";
import { builtInTrust } from "../platform/version.ts";
import { AccessFile } from "../store/access-file.ts";
import { FolderChanged } from "../store/folder-changed.ts";
import type { LockHolder } from "../store/lock.ts";
import { SealedFile } from "../store/sealed-file.ts";
import { Store } from "../store/store.ts";
import { checkpointInChild } from "./checkpoint-child.ts";
import { EXIT_FAILURE } from "./command.ts";
import { folderChecks } from "./folder-checks.ts";
import { printError } from "./terminal.ts";

export interface ApplianceOptions {
  readonly folder: string;
  /** What stands for the hardware; null: the hardware itself. */
  readonly identityName: string | null;
  /** Null takes a folder of either kind. */
  readonly kind: DataFolderKind | null;
  readonly create: boolean;
  /** What for: a server keeps the folder, a command has it for a moment. */
  readonly holder: LockHolder;
  /** Whether a folder of an older format becomes one of today's at once; else with a change. */
  readonly migrateAtOnce?: boolean;
  /** How many months of the record to keep besides the current one; 0: all of it. */
  readonly keepMonths?: number;
  readonly caps?: SlotCaps;
  /** How many MiB an hour one address may add to the audit log; 0: no limit. */
  readonly auditBudget?: number;
  /** Makes sure that no other server has this appliance; throws where one does. */
  readonly claim?: (key: PrivateKey) => Promise<void>;
}

/** Where the command line finds a running server. */
export const socketPath = (folder: string): string => join(folder, "berth.sock");

/** A moment for those who wait to get their 503 before the process is gone. */
const EXIT_DELAY = 250;

/** The data folder with everything that works on it: the one place where the real parts meet. */
export async function openAppliance(options: ApplianceOptions): Promise<Services> {
  const {
    folder,
    identityName,
    kind,
    create,
    holder,
    keepMonths = 0,
    caps,
    auditBudget = 0,
  } = options;
  becomeFolderOwner(folder);
  const clock = new ApplianceClock();
  const identity = new Identity(realDisk, folder, hardwareComponents(identityName, kind));
  const accessFile = new AccessFile(realDisk, folder);
  const store = await Store.open({
    identify: () => identity.create(),
    // Before anything is written: a folder that is refused stays as it is.
    async recognize(appliance) {
      identity.open(appliance);
      accessFile.read();
      await options.claim?.(identity.key);
    },
    checkSignatures: folderChecks.checkSignatures,
    isBound: (license) => identity.matchHardware(license).isMatch,
    disk: realDisk,
    folder,
    kind,
    create,
    holder,
    migrateOnOpen: options.migrateAtOnce ?? false,
    clock: clock.now,
    jumps: clock.jumps,
    behind: clock.behind,
    ...(caps && { caps }),
    checkpoint: (where, open, stopping) => checkpointInChild(where, open, stopping, { keepMonths }),
    onFatal: exitAfterFatalError,
  });
  // Not the system's clock: one that is set back must not revive a token that has ended.
  const now = (): Instant =>
    store.peek(({ latestEventAt, clockJumps }) => clock.now(latestEventAt, clockJumps));
  const access = new AccessControl(store, accessFile, now);
  const operations = new Operations(
    store,
    (lease) => signLease(lease, identity.key),
    new AuditBudget(auditBudget),
  );
  const credentials = new CloudCredentials(
    store,
    new SealedFile(realDisk, folder, { key: readSystemdCredential("berth-sealing-key") }),
    {
      apiKey: readSystemdCredentialText("berth-api-key"),
      sharedKey: readSystemdCredentialText("berth-shared-key"),
    },
  );
  const licensing = new Licensing(store, identity, credentials, builtInTrust);
  if (builtInTrust !== null) await licensing.trustVendor(builtInTrust, "build");
  const timekeeping = new Timekeeping(store, clock, identity);
  const airgap = new Airgap(store, identity);
  return {
    operations,
    licensing,
    airgap,
    credentials,
    identity,
    timekeeping,
    access,
    streams: new StatusStreams(),
    auditLog: new AuditLogReader(store),
    auditMaintenance: new AuditMaintenance(store),
    // Nobody listens yet.
    exposures: () => [],
    certificate: () => null,
    runningServer: null,
  };
}

/** Ends the process, once those who wait have heard of it. */
function exitAfterFatalError(error: Error): void {
  const changed = error instanceof FolderChanged ? error : null;
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

/** What systemd hands over of files that only root may read, where the unit names them. */
function readSystemdCredential(name: string): Uint8Array | null {
  const folder = process.env["CREDENTIALS_DIRECTORY"];
  return folder === undefined ? null : realDisk.read(join(folder, name));
}

/** Without the line end that an editor leaves; empty means not set. */
function readSystemdCredentialText(name: string): string | null {
  const bytes = readSystemdCredential(name);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim() || null;
}

function hardwareComponents(
  named: string | null,
  kind: DataFolderKind | null,
): readonly HardwareComponent[] {
  if (named !== null) return [{ kind: "named", value: named.normalize("NFC") }];
  const told = readMachineComponents();
  // A demo is for trying, also in a container that shows nothing of its hardware.
  return told.length === 0 && kind === "demo" ? [{ kind: "named", value: "demo" }] : told;
}
