// Runs a site on a real folder through the real store and takes snapshots of the folder on the way.
// Keys, users and times are fixed here, so that damage to a snapshot can be repeated.
import { createPrivateKey, createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../../../src/domain/decide.ts";
import type { LicenseUpload } from "../../../src/domain/requests/license-upload.ts";
import { emptyState, evolve } from "../../../src/domain/evolve/evolve.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { keyIdOf, publicPart, type PrivateKey } from "../../../src/license/documents/keys.ts";
import { signLicense } from "../../../src/license/documents/license.ts";
import { signTrustDocument } from "../../../src/license/documents/trust.ts";
import { CloudCredentials } from "../../../src/operations/appliance/cloud-credentials.ts";
import { Identity } from "../../../src/operations/appliance/identity.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal/journal.ts";
import { SealedFile } from "../../../src/store/secrets/sealed-file.ts";
import { Store } from "../../../src/store/store.ts";
import { makeDiskError } from "../../support/faulty-disk.ts";
import { transactInOneBatch, dumpStateSorted } from "../../support/licensed-store.ts";
import { makeRequestCommand, requestIdFor, VENDOR } from "../../support/new-site.ts";
import {
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  install,
  MONDAY,
  register,
  registerFeature,
  unregister,
} from "../../support/scenario.ts";
import { certifyKey, toTermsDocument } from "../../support/vendor.ts";
import { fileBytes, readTree, type Bytes, type FileTree } from "../shared/memory-disk.ts";

export interface FolderSnapshot {
  readonly name: string;
  readonly tree: FileTree;
}

/** A journal line with its bytes as they were written. */
export interface WrittenLine {
  readonly line: JournalLine;
  readonly raw: Bytes;
}

/** A snapshot just before a checkpoint, which appends to the month `name` of the audit log. */
export interface PendingCheckpoint extends FolderSnapshot {
  readonly openSegment: number;
}

export interface SiteHistory {
  readonly appliance: string;
  readonly key: PrivateKey;
  readonly snapshots: readonly FolderSnapshot[];
  readonly pendingCheckpoints: readonly PendingCheckpoint[];
  /** Every line that was ever written, in order. */
  readonly lines: readonly WrittenLine[];
  /** The complete state after each line, by the checksum of the line. */
  readonly statesBySum: ReadonlyMap<string, string>;
}

export const CREDENTIALS = { apiKey: "an api key", sharedKey: "a shared key" };

const CAD = {
  slots: 50,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms("view", { floating: { slots: 9, timeoutMinutes: 30 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: null }) }),
  ],
};

/** Runs the site in `folder`. Two sites with different names have no journal line in common. */
export async function recordSiteHistory(folder: string, siteName: string): Promise<SiteHistory> {
  const key = deriveKey(siteName);
  const snapshots: FolderSnapshot[] = [];
  const pendingCheckpoints: PendingCheckpoint[] = [];
  const linesBySeq = new Map<number, WrittenLine>();
  const clock = { now: MONDAY };
  const takeSnapshot = (name: string): void => {
    snapshots.push({ name, tree: readTree(folder) });
  };
  /** A checkpoint removes old segments, so their lines are read before. */
  const makeCheckpoint = (): Promise<void> => {
    for (const written of readLines(readTree(folder))) linesBySeq.set(written.line.seq, written);
    return store.checkpoint();
  };
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "identity.jwk"), `${JSON.stringify(key)}\n`, { mode: 0o600 });
  const checkpointDisk = { current: realDisk };
  const store = await openStore(folder, clock, checkpointDisk);
  takeSnapshot("fresh");
  const nameUser = (user: string): string => `${user} of ${siteName}`;
  const transactTogether = (...commands: Command[]): Promise<void> =>
    transactInOneBatch(store, ...commands);
  const transactEach = async (...commands: Command[]): Promise<void> => {
    for (const command of commands) await transactTogether(command);
  };

  const { name, version, products, retired } = VENDOR;
  const jwk = publicPart(ROOT);
  const vendor = {
    vendor: keyIdOf(ROOT),
    name,
    version,
    jwk,
    products: [...products],
    retired: [...retired],
  };
  const document = await signTrustDocument(vendor, ROOT);
  const signed = { ...vendor, document, sum: sha256(document) };
  const trust: Command = { type: "TrustVendor", trust: signed, peer: "10.0.0.9" };
  const installLicense = await signLicenseFor(key, install(1, CAD));
  await transactEach(
    trust,
    makeRequestCommand(requestIdFor(1)),
    installLicense,
    register(nameUser("ada")),
  );
  await transactTogether(register(nameUser("bob")), register(nameUser("cem")), consume(2));
  takeSnapshot("licensed");
  await makeCheckpoint();

  const sealed = new SealedFile(realDisk, folder);
  await new CloudCredentials(store, sealed).set(CREDENTIALS, "10.0.0.9");
  const once = { key: "__proto__", fingerprint: "a" };
  await transactTogether(
    borrow(nameUser("ada"), null, { once }),
    registerFeature(nameUser("bob"), "view"),
  );
  await makeCheckpoint();
  // A month later: registrations that expired meanwhile are written, too.
  clock.now = later(MONDAY, 34 * DAY);
  await transactTogether(register(nameUser("dua")), consumeFeature("plot", 3));
  await transactEach(register(nameUser('ä\n\u2028"🙂')), unregister(nameUser("dua")));
  await makeCheckpoint();
  // The vendor's answer sets the clock back, into a month that already has an audit log file.
  clock.now = later(MONDAY, 20 * DAY);
  const question = { nonce: "00ff10a5c3", peer: "clock" } as const;
  const setBack = { type: "SetClockBack", to: clock.now, ...question } as const;
  await transactEach({ type: "AskClock", ...question }, setBack, register(nameUser("eve")));
  await makeCheckpoint();

  await writeBatches(store, clock, nameUser, "f");
  takeSnapshot("running");
  for (const days of [1, 15, 45]) {
    pendingCheckpoints.push(
      await makePendingCheckpoint(folder, later(clock.now, days * DAY), siteName),
    );
  }
  await transactTogether(consume(1));
  takeSnapshot("one more batch");
  checkpointDisk.current = diskRefusingRename;
  await makeCheckpoint();
  checkpointDisk.current = realDisk;
  await writeBatches(store, clock, nameUser, "g");
  takeSnapshot("interrupted");
  await makeCheckpoint();
  await store.close();
  takeSnapshot("stopped");
  const lines = [...linesBySeq.values()].toSorted((a, b) => a.line.seq - b.line.seq);
  return {
    appliance: keyIdOf(key),
    key,
    snapshots,
    pendingCheckpoints,
    lines,
    statesBySum: computeStates(lines),
  };
}

/** Adds a license document that the vendor signed for this appliance. */
async function signLicenseFor(key: PrivateKey, command: LicenseUpload): Promise<LicenseUpload> {
  const { license, terms, grant } = command;
  const document = await signLicense(
    {
      iss: keyIdOf(ROOT),
      iat: 0,
      license_id: license,
      serial: grant.serial,
      request_id: null,
      nonce: null,
      appliance: keyIdOf(key),
      cnf: { jwk: publicPart(key) },
      hardware_id: grant.hardwareId,
      terms: toTermsDocument(terms),
    },
    await certifyKey(ROOT, {}, ISSUING),
  );
  const [vendor, issuing] = [keyIdOf(ROOT), keyIdOf(ISSUING)];
  const signed = { vendor, key: issuing, document, lic: sha256(document) };
  const signer = { ...command.signer, vendor, key: issuing };
  return { ...command, signer, grant: { ...grant, ...signed } };
}

/** Both the clock and the disk of a checkpoint can be changed while the store is open. */
async function openStore(
  folder: string,
  clock: { now: Instant },
  checkpointDisk: { current: Disk },
): Promise<Store> {
  const identity = new Identity(realDisk, folder, []);
  return Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: () => clock.now,
    identify: () => identity.create(),
    checkpoint: (path, openSegment) => checkpoint(checkpointDisk.current, path, openSegment),
    onFatal(error) {
      throw error;
    },
  });
}

/** Writes what a running server has in its newest segment: batches of one line and of several. */
async function writeBatches(
  store: Store,
  clock: { now: Instant },
  nameUser: (user: string) => string,
  prefix: string,
): Promise<void> {
  const users = [1, 2, 3, 4].map((count) => nameUser(`${prefix}${count}`));
  await transactInOneBatch(store, register(users[0] ?? ""));
  clock.now = later(clock.now, MINUTE);
  // The first of these is a heartbeat, which is not in the audit log.
  await transactInOneBatch(store, ...users.slice(0, 3).map((user) => register(user)));
  clock.now = later(clock.now, HOUR);
  await transactInOneBatch(store, consume(1));
  await transactInOneBatch(
    store,
    ...users.map((user) => register(user)),
    consumeFeature("plot", 1),
  );
}

/**
 * The disk of a checkpoint that is interrupted after it wrote its state and before it renamed it.
 */
const diskRefusingRename: Disk = {
  ...realDisk,
  rename() {
    throw makeDiskError("EIO");
  },
};

/** The same folder after more changes at `at`, with its segment closed and no checkpoint made. */
async function makePendingCheckpoint(
  folder: string,
  at: Instant,
  siteName: string,
): Promise<PendingCheckpoint> {
  const copy = `${folder}-${at}`;
  if (!Bun.spawnSync(["cp", "-a", folder, copy]).success) throw new Error(`cp to ${copy} failed`);
  const store = await openStore(copy, { now: at }, { current: diskRefusingRename });
  await transactInOneBatch(store, register(`zoe of ${siteName}`), consume(5));
  const before = readTree(copy);
  await store.checkpoint();
  const openSegment = store.status().seq + 1;
  await store.close();
  const tree = new Map([...before, [`journal-${openSegment}.jsonl`, { bytes: new Uint8Array() }]]);
  return { name: new Date(at).toISOString().slice(0, 7), tree, openSegment };
}

/** Reads every line in the journal of a folder. */
function readLines(tree: FileTree): WrittenLine[] {
  const lines: WrittenLine[] = [];
  for (const name of tree.keys()) {
    if (!name.startsWith("journal-")) continue;
    const bytes = fileBytes(tree, name);
    for (let offset = 0; offset < bytes.length;) {
      const end = bytes.indexOf(10, offset) + 1;
      const line = decodeLine(bytes.subarray(offset, end - 1));
      if (line === null) throw new Error(`${name} has a damaged line at byte ${offset}`);
      lines.push({ line, raw: bytes.slice(offset, end) });
      offset = end;
    }
  }
  return lines;
}

export const serializeState = (state: Parameters<typeof dumpStateSorted>[0]): string =>
  JSON.stringify(dumpStateSorted(state));

function computeStates(lines: readonly WrittenLine[]): Map<string, string> {
  const state = emptyState("site");
  const states = new Map<string, string>();
  for (const { line } of lines) {
    for (const event of line.events) evolve(state, event);
    states.set(line.sum, serializeState(state));
  }
  return states;
}

const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Derives a key from a name: the same name gives the same key. */
function deriveKey(name: string): PrivateKey {
  const secret = new Bun.CryptoHasher("sha256").update(name).digest();
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, secret]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return { kty: "OKP", crv: "Ed25519", x, d: secret.toString("base64url") };
}

const ROOT = deriveKey("the vendor");
const ISSUING = deriveKey("the issuing key of the vendor");
