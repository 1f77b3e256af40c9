// Two hosts of a pair with their operations, which share a simulated log, and a vendor's desk.
import { onTestFinished } from "bun:test";
import { join } from "node:path";
import { hashComponents, computeHardwareId } from "../../src/license/documents/hardware.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import { publicKeyBytes } from "../../src/license/documents/keys.ts";
import { verifyLicenseRequest, type LicenseRequest } from "../../src/license/requests/request.ts";
import { parseLogUrl, type LogUrl } from "../../src/operations/pair/open-log.ts";
import { wire, type ApplianceOperations } from "../../src/operations/wire.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { genesisHead } from "../../src/store/journal/journal.ts";
import type { Store } from "../../src/store/store.ts";
import { Desk } from "../../src/desk/desk.ts";
import { transactOrThrow, unwrap } from "./licensed-store.ts";
import { createSteppingClock, ManualClock } from "./manual-clock.ts";
import { MONDAY } from "./scenario.ts";
import { SimulatedLog } from "./simulated-log.ts";
import { copyFolder, tempFolder } from "./temp-folder.ts";
import { makeContact } from "./contact.ts";

/** The hardware of a machine with this name. */
export const machine = (name: string): HardwareComponent[] => [
  { kind: "machine_id", value: `machine ${name}` },
  { kind: "board_serial", value: `board ${name}` },
  { kind: "mac", value: `mac ${name}` },
];

export interface HostOptions {
  /** Absent: the host serves alone. */
  readonly log?: SimulatedLog;
  readonly host: string;
  /** The machine that it runs on; default: one with the name of the host. */
  readonly machine?: string;
  readonly folder?: string;
  /** The trust document of a vendor's own build. */
  readonly builtInTrust?: string;
}

export interface OpenHost {
  readonly folder: string;
  readonly store: Store;
  readonly operations: ApplianceOperations;
  readonly stop: () => Promise<void>;
}

const TERM_MS = 3_600_000;

export async function openHost(options: HostOptions): Promise<OpenHost> {
  const { log, host, folder = join(tempFolder(), "data") } = options;
  const { store, operations } = await wire({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    holder: "command",
    clock: new ManualClock(() => MONDAY),
    monotonicMs: createSteppingClock(),
    hardware: machine(options.machine ?? host),
    checkpoint: (dataFolder, open) => checkpoint(realDisk, dataFolder, open),
    onFatal: () => {},
    ...(options.builtInTrust !== undefined && { builtInTrust: options.builtInTrust }),
    ...(log && {
      pair: {
        url: parseLogUrl("postgres://berth@db/berth") as LogUrl,
        passwordFile: null,
        passwordCredential: null,
        pgpassFile: null,
        host,
        clientUrl: null,
        termMs: TERM_MS,
      },
      openLog: async (_pair, { end }) => {
        if (log.leader.epoch === 0) log.leader = { ...log.leader, ...end };
        return Object.assign(log.connect(host), { close: async () => {} });
      },
    }),
  });
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= operations.close());
  onTestFinished(stop);
  return { folder, store, operations, stop };
}

export interface LicensedPair {
  readonly desk: Desk;
  readonly deskFolder: string;
  readonly log: SimulatedLog;
  readonly alpha: OpenHost;
}

/** Host alpha leads a pair with beta, and trusts the vendor; no license is installed yet. */
export async function openPairOfTwo(log = new SimulatedLog(genesisHead)): Promise<LicensedPair> {
  const deskFolder = join(tempFolder(), "desk");
  const newDesk = { name: "Penetrode", products: ["sim", "ray"], passphrase: null };
  const desk = await Desk.create(realDisk, deskFolder, newDesk);
  const alpha = await openHost({ log, host: "alpha" });
  await alpha.operations.leadership?.step();
  const trust = desk.trust.document;
  unwrap(await alpha.operations.vendorTrust.trustVendor(trust, "test"));
  await admit(alpha, "beta");
  return { desk, deskFolder, log, alpha };
}

/** Admits a host that runs on the machine with its name. */
async function admit({ store, operations }: OpenHost, host: string): Promise<void> {
  const key = publicKeyBytes(operations.identity.key);
  const hardware = hashComponents(machine(host), key);
  const hardwareId = computeHardwareId(hardware);
  const log = store.peek(({ pair }) => pair?.log ?? "");
  await transactOrThrow(store, {
    type: "AdmitHost",
    log,
    host,
    hardwareId,
    hardware,
    peer: "test",
  });
}

/** Stops the leader and continues on another host, which has the same data. */
export async function takeOver(
  { folder, stop }: OpenHost,
  options: HostOptions,
): Promise<OpenHost> {
  await stop();
  const next = await openHost({ ...options, folder: copyFolder(folder) });
  await next.operations.leadership?.step();
  return next;
}

/** A copy of the log as it is now, which another half of the pair continues. */
export function splitLog(log: SimulatedLog): SimulatedLog {
  const copy = new SimulatedLog(genesisHead);
  copy.leader = { ...log.leader, holder: null };
  copy.lines.push(...log.lines);
  return copy;
}

export async function requestFrom(
  { operations }: OpenHost,
  hosts: 1 | 2 | null = 2,
  product = "sim",
): Promise<LicenseRequest> {
  const made = unwrap(await operations.licensing.request(product, null, "test", {}, hosts));
  return unwrap(await verifyLicenseRequest(made.document));
}

export const register = ({ operations }: OpenHost, user: string, nonce: string | null = null) =>
  operations.slots.register({
    product: "sim",
    user,
    licenseId: null,
    contact: makeContact({ hostname: "ws", ip: "10.0.0.9", peer: "10.0.0.9" }),
    identity: null,
    nonce,
  });
