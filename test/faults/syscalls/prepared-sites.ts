// The folders that scenes begin with, made once and copied for every run.
import { appendFileSync, cpSync, linkSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Terms } from "../../../src/domain/terms.ts";
import { HOUR, later, type Instant } from "../../../src/domain/time.ts";
import { generateKey } from "../../../src/license/keys.ts";
import { Airgap } from "../../../src/operations/airgap.ts";
import { CloudCredentials } from "../../../src/operations/cloud-credentials.ts";
import { Identity } from "../../../src/operations/identity.ts";
import { Licensing } from "../../../src/operations/licensing.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { readMachineComponents } from "../../../src/platform/machine.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import {
  generationName,
  AUDIT_FOLDER,
  listSegments,
  STATE_FILE,
} from "../../../src/store/files.ts";
import { SealedFile } from "../../../src/store/sealed-file.ts";
import { StateFile } from "../../../src/store/state-file.ts";
import { Store } from "../../../src/store/store.ts";
import { transactOrThrow, unwrap } from "../../support/licensed-store.ts";
import {
  consume,
  CONTACT,
  consumptionTerms,
  featureTerms,
  register,
  registerFeature,
} from "../../support/scenario.ts";
import { readFacts, LICENSE, type SiteFacts } from "./site-facts.ts";
import { answerRequest, makeAirgapLicenseBody, makeTrustDocument } from "../../support/vendor.ts";

/** A folder to copy, and what it holds. */
export interface PreparedSite {
  readonly folder: string;
  readonly facts: SiteFacts;
}

const LICENSE_KEY = "K-1";

export interface PreparedSites {
  /** Three users hold slots and one slot is free; nothing was folded since they came. */
  readonly site: PreparedSite;
  /** The same with cloud credentials. */
  readonly withCredentials: PreparedSite;
  /** The same, after a crash in the middle of a write. */
  readonly withTornTail: PreparedSite;
  /**
   * The same with a journal that one long line more makes due to be folded, and with what a
   * checkpoint that was interrupted before every step of its own leaves behind.
   */
  readonly withDueJournal: PreparedSite;
  /** Answers an open request with more slots. */
  readonly renewal: string;
  /** Another vendor's. */
  readonly trust: string;
  /** What installs a license by code. */
  readonly confirmation: object;
}

const terms: Partial<Terms> = {
  slots: 4,
  timeoutMinutes: 24 * 60,
  borrowHours: 100,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms("view", { floating: { slots: 9, timeoutMinutes: 24 * 60 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: null }) }),
  ],
};

/**
 * The record is ahead of the clock on the wall, and a license with an end was lent from, so that
 * time does not follow back: else a start would mark the time, or not, depending on how long ago
 * this was made.
 */
const ahead = (): Instant => later(wallClock(), HOUR);

/** A segment as long as this is folded. */
const DUE = 8 * 1024 * 1024;

/** Free text of a heartbeat, as long as it may be. */
export const LONG_HEARTBEAT_BYTES = 4 * 1024;

export async function prepareSites(root: string): Promise<PreparedSites> {
  const folder = join(root, "made");
  const { store, licensing, airgap } = await open(folder);
  unwrap(await licensing.trustVendor(await makeTrustDocument({ products: ["cad"] }), "test"));
  const first = unwrap(await licensing.request("cad", null, "test"));
  const dated = { ...terms, validUntil: later(ahead(), 1_000 * HOUR) };
  unwrap(
    await licensing.installLicense(await answerRequest(first.document, LICENSE, dated), "test"),
  );
  await transactOrThrow(store, register("ann"));
  await store.checkpoint();
  const { checkpointError } = store.health();
  if (checkpointError !== null) throw new Error(`the checkpoint failed: ${checkpointError}`);
  for (const user of ["bob", "cid"]) await transactOrThrow(store, register(user));
  await transactOrThrow(store, registerFeature("bob", "view"));
  await transactOrThrow(store, consume(5));
  const second = unwrap(await licensing.request("cad", null, "test"));
  const renewed = { ...dated, slots: 6 };
  const renewal = await answerRequest(second.document, LICENSE, renewed, { serial: 2 });
  const { code } = unwrap(await airgap.createActivationCode(LICENSE_KEY, "", "test"));
  const confirmation = await makeAirgapLicenseBody(code, LICENSE_KEY);
  await settled(store);
  const site = copy(folder, join(root, "site"));
  // One long line, and a short one that takes it back: the state stays small.
  for (const info of ["x".repeat(DUE - store.health().journalBytes - 4_000), ""]) {
    await transactOrThrow(store, register("ann", { contact: { ...CONTACT, info } }));
  }
  await settled(store);
  const left = DUE - store.health().journalBytes;
  if (left <= 0 || left >= LONG_HEARTBEAT_BYTES)
    throw new Error(`the journal is due in ${left} bytes`);
  const long = copy(folder, join(root, "long"));
  await store.close();
  await interruptCheckpoint(long);

  const keyed = copy(site, join(root, "keyed"));
  await new SealedFile(realDisk, keyed).change({ apiKey: "old-a", sharedKey: "old-s" });
  const torn = copy(site, join(root, "torn"));
  tear(torn);
  return {
    site: await readPreparedSite(site),
    withCredentials: await readPreparedSite(keyed),
    withTornTail: await readPreparedSite(torn),
    withDueJournal: await readPreparedSite(long),
    renewal,
    trust: await makeTrustDocument({ products: ["cam"] }, await generateKey()),
    confirmation,
  };
}

async function open(folder: string) {
  const identity = new Identity(realDisk, folder, readMachineComponents());
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: ahead,
    identify: () => identity.create(),
    isBound: (license) => identity.matchHardware(license).isMatch,
    checkpoint: (where, first) => checkpoint(realDisk, where, first),
    onFatal(error) {
      throw error;
    },
  });
  const credentials = new CloudCredentials(store, new SealedFile(realDisk, folder));
  const licensing = new Licensing(store, identity, credentials);
  return { store, licensing, airgap: new Airgap(store, identity) };
}

/** Looked up in a copy: to load a folder may repair it. */
async function readPreparedSite(folder: string): Promise<PreparedSite> {
  const copied = copy(folder, `${folder}-read`);
  try {
    return { folder, facts: await readFacts(copied) };
  } finally {
    rmSync(copied, { recursive: true });
  }
}

/** Copies are made by this rig, not by a crash: what was done has to be in them. */
const settled = (store: Store): Promise<unknown> => store.read(() => null);

function copy(from: string, to: string): string {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  return to;
}

const HALF_A_LINE = '{"seq":';

function tear(folder: string): void {
  const newest = listSegments(realDisk, folder).at(-1);
  if (newest === undefined) throw new Error(`${folder} has no journal`);
  appendFileSync(newest.path, HALF_A_LINE);
}

async function interruptCheckpoint(folder: string): Promise<void> {
  const covered = (await new StateFile(realDisk, folder).read())?.covers.seq ?? 0;
  linkSync(join(folder, STATE_FILE), join(folder, generationName(covered)));
  writeFileSync(join(folder, `${STATE_FILE}.new`), "{", { mode: 0o600 });
  for (const name of readdirSync(join(folder, AUDIT_FOLDER))) {
    appendFileSync(join(folder, AUDIT_FOLDER, name), HALF_A_LINE);
  }
}
