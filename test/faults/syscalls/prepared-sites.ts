// The folders that scenarios start with, made once and copied for every run.
import { appendFileSync, cpSync, linkSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { HOUR, later, type Instant } from "../../../src/domain/time.ts";
import { generateKey } from "../../../src/license/documents/keys.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  generationName,
  AUDIT_FOLDER,
  listSegments,
  STATE_FILE,
} from "../../../src/store/folder/files.ts";
import { SealedFile } from "../../../src/store/secrets/sealed-file.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import type { Store } from "../../../src/store/store.ts";
import { transactOrThrow, unwrap } from "../../support/licensed-store.ts";
import {
  consume,
  CONTACT,
  consumptionTerms,
  featureTerms,
  register,
  registerFeature,
} from "../../support/scenario.ts";
import { openSiteFolder } from "../../support/site-folder.ts";
import { readFacts, LICENSE, type SiteFacts } from "./site-facts.ts";
import { answerRequest, makeAirgapLicenseBody, makeTrustDocument } from "../../support/vendor.ts";

/** A folder to copy, and the facts about its content. */
export interface PreparedSite {
  readonly folder: string;
  readonly facts: SiteFacts;
}

const LICENSE_KEY = "K-1";

export interface PreparedSites {
  /** Three users have slots and one slot is free; no checkpoint since two of them registered. */
  readonly site: PreparedSite;
  /** The same with cloud credentials. */
  readonly withCredentials: PreparedSite;
  /** The same after a crash during a write. */
  readonly withTornTail: PreparedSite;
  /**
   * The same with a journal that is due for a checkpoint after one more long line, and with the
   * leftovers of checkpoints that were interrupted before each of their steps.
   */
  readonly withDueJournal: PreparedSite;
  /** A license document that answers the pending request with more slots. */
  readonly renewal: string;
  /** The trust document of another vendor. */
  readonly trust: string;
  /** The body of a call that installs a license by confirmation code. */
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
 * The journal's time is ahead of the system clock, and slots of a license with an expiry are in
 * use, so the server does not follow the system clock back. Otherwise a start would write the time,
 * or not, depending on how long ago this folder was made.
 */
const clockAhead = (): Instant => later(wallClock(), HOUR);

/** The segment size at which a checkpoint is due. */
const CHECKPOINT_BYTES = 8 * 1024 * 1024;

/** The longest user_info of a heartbeat. */
export const LONG_HEARTBEAT_BYTES = 4 * 1024;

export async function prepareSites(root: string): Promise<PreparedSites> {
  const folder = join(root, "made");
  const { store, licensing, vendorTrust, airgap, close } = await openSiteFolder(folder, clockAhead);
  unwrap(await vendorTrust.trustVendor(await makeTrustDocument({ products: ["cad"] }), "test"));
  const firstRequest = unwrap(await licensing.request("cad", null, "test"));
  const datedTerms = { ...terms, validUntil: later(clockAhead(), 1_000 * HOUR) };
  unwrap(
    await licensing.installLicense(
      await answerRequest(firstRequest.document, LICENSE, datedTerms),
      "test",
    ),
  );
  await transactOrThrow(store, register("ann"));
  await store.checkpoint();
  const { checkpointError } = store.status();
  if (checkpointError !== null) throw new Error(`the checkpoint failed: ${checkpointError}`);
  for (const user of ["bob", "cid"]) await transactOrThrow(store, register(user));
  await transactOrThrow(store, registerFeature("bob", "view"));
  await transactOrThrow(store, consume(5));
  const secondRequest = unwrap(await licensing.request("cad", null, "test"));
  const renewedTerms = { ...datedTerms, slots: 6 };
  const renewal = await answerRequest(secondRequest.document, LICENSE, renewedTerms, { serial: 2 });
  const { code } = unwrap(await airgap.createActivationCode(LICENSE_KEY, "", "test"));
  const confirmation = await makeAirgapLicenseBody(code, LICENSE_KEY);
  await waitForSync(store);
  const site = copy(folder, join(root, "site"));
  // A long line, and a short one that replaces its info, so that the state stays small.
  for (const info of ["x".repeat(CHECKPOINT_BYTES - store.status().journalBytes - 4_000), ""]) {
    await transactOrThrow(store, register("ann", { contact: { ...CONTACT, info } }));
  }
  await waitForSync(store);
  const remainingBytes = CHECKPOINT_BYTES - store.status().journalBytes;
  if (remainingBytes <= 0 || remainingBytes >= LONG_HEARTBEAT_BYTES)
    throw new Error(
      `the next checkpoint is due in ${remainingBytes} bytes, not in 1 to ${LONG_HEARTBEAT_BYTES - 1}`,
    );
  const withDueJournal = copy(folder, join(root, "long"));
  await close();
  await interruptCheckpoint(withDueJournal);

  const withCredentials = copy(site, join(root, "keyed"));
  await new SealedFile(realDisk, withCredentials).change({ apiKey: "old-a", sharedKey: "old-s" });
  const withTornTail = copy(site, join(root, "torn"));
  tearJournal(withTornTail);
  return {
    site: await readPreparedSite(site),
    withCredentials: await readPreparedSite(withCredentials),
    withTornTail: await readPreparedSite(withTornTail),
    withDueJournal: await readPreparedSite(withDueJournal),
    renewal,
    trust: await makeTrustDocument({ products: ["cam"] }, await generateKey()),
    confirmation,
  };
}

/** Reads a copy, because loading a folder may repair it. */
async function readPreparedSite(folder: string): Promise<PreparedSite> {
  const readCopy = copy(folder, `${folder}-read`);
  try {
    return { folder, facts: await readFacts(readCopy) };
  } finally {
    rmSync(readCopy, { recursive: true });
  }
}

/** Waits until all changes are synced, so that a copy of the folder contains them. */
const waitForSync = (store: Store): Promise<unknown> => store.read(() => null);

function copy(from: string, to: string): string {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  return to;
}

const PARTIAL_LINE = '{"seq":';

function tearJournal(folder: string): void {
  const newest = listSegments(realDisk, folder).at(-1);
  if (newest === undefined) throw new Error(`${folder} has no journal`);
  appendFileSync(newest.path, PARTIAL_LINE);
}

async function interruptCheckpoint(folder: string): Promise<void> {
  const coveredSeq = (await new StateFile(realDisk, folder).read())?.covers.seq ?? 0;
  linkSync(join(folder, STATE_FILE), join(folder, generationName(coveredSeq)));
  writeFileSync(join(folder, `${STATE_FILE}.new`), "{", { mode: 0o600 });
  for (const name of readdirSync(join(folder, AUDIT_FOLDER))) {
    appendFileSync(join(folder, AUDIT_FOLDER, name), PARTIAL_LINE);
  }
}
