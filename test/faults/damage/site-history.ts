// The life of a site, on a real folder through the real store, and the folder as it was at moments
// of that life. Everything in it is decided here, so that damage to it can be done again.
import { createPrivateKey, createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, InstallLicense } from "../../../src/domain/command.ts";
import { evolve } from "../../../src/domain/evolve.ts";
import { emptyState } from "../../../src/domain/state.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { keyIdOf, publicPart, type PrivateKey } from "../../../src/license/keys.ts";
import { signLicense } from "../../../src/license/license.ts";
import { CloudCredentials } from "../../../src/operations/cloud-credentials.ts";
import { Identity } from "../../../src/operations/identity.ts";
import { realDisk, type Disk } from "../../../src/platform/disk.ts";
import { sha256 } from "../../../src/platform/hash.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal.ts";
import { SealedFile } from "../../../src/store/sealed-file.ts";
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
import { toTermsDocument } from "../../support/vendor.ts";
import { fileBytes, readTree, type Bytes, type FileTree } from "../shared/memory-disk.ts";

export interface FolderSnapshot {
  readonly name: string;
  readonly tree: FileTree;
}

/** A line of the journal as it was written. */
export interface WrittenLine {
  readonly line: JournalLine;
  readonly raw: Bytes;
}

/** A moment of which the next thing to come is a fold, into some month of the record. */
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
  /** The whole state after each line, by the line's sum. */
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

/** Made in `folder`; two lives of different names have no line in common. */
export async function recordSiteHistory(folder: string, named: string): Promise<SiteHistory> {
  const key = keyOf(named);
  const moments: FolderSnapshot[] = [];
  const foldable: PendingCheckpoint[] = [];
  const seen = new Map<number, WrittenLine>();
  const clock = { now: MONDAY };
  const look = (name: string): void => {
    moments.push({ name, tree: readTree(folder) });
  };
  /** Old segments go with a checkpoint: their lines are taken down before. */
  const checkpointed = (): Promise<void> => {
    for (const written of linesIn(readTree(folder))) seen.set(written.line.seq, written);
    return store.checkpoint();
  };
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "identity.jwk"), `${JSON.stringify(key)}\n`, { mode: 0o600 });
  const fold = { with: realDisk };
  const store = await openStore(folder, clock, fold);
  look("fresh");
  const who = (user: string): string => `${user} of ${named}`;
  const together = (...commands: Command[]): Promise<void> =>
    transactInOneBatch(store, ...commands);
  const oneByOne = async (...commands: Command[]): Promise<void> => {
    for (const command of commands) await together(command);
  };

  const vendor = { ...VENDOR, vendor: keyIdOf(VENDOR_KEY), keys: [publicPart(VENDOR_KEY)] };
  const trust: Command = { type: "TrustVendor", vendor, peer: "10.0.0.9" };
  const installing = await signedFor(key, install(1, CAD));
  await oneByOne(trust, makeRequestCommand(requestIdFor(1)), installing, register(who("ada")));
  await together(register(who("bob")), register(who("cem")), consume(2));
  look("young");
  await checkpointed();

  const sealed = new SealedFile(realDisk, folder);
  await new CloudCredentials(store, sealed).set(CREDENTIALS, "10.0.0.9");
  const once = { key: "__proto__", fingerprint: "a" };
  await together(borrow(who("ada"), null, { once }), registerFeature(who("bob"), "view"));
  await checkpointed();
  // A month later: what ran out meanwhile is written too.
  clock.now = later(MONDAY, 34 * DAY);
  await together(register(who("dua")), consumeFeature("plot", 3));
  await oneByOne(register(who('ä\n\u2028"🙂')), unregister(who("dua")));
  await checkpointed();
  // Back into a month that has its file already, by the vendor's word.
  clock.now = later(MONDAY, 20 * DAY);
  const question = { nonce: "00ff10a5c3", peer: "clock" } as const;
  const back = { type: "SetClockBack", to: clock.now, ...question } as const;
  await oneByOne({ type: "AskClock", ...question }, back, register(who("eve")));
  await checkpointed();

  await batches(store, clock, who, "f");
  look("running");
  for (const days of [1, 15, 45]) {
    foldable.push(await makePendingCheckpoint(folder, later(clock.now, days * DAY), named));
  }
  await together(consume(1));
  look("lone");
  fold.with = refusingToRename;
  await checkpointed();
  fold.with = realDisk;
  await batches(store, clock, who, "g");
  look("interrupted");
  await checkpointed();
  await store.close();
  look("stopped");
  const lines = [...seen.values()].toSorted((a, b) => a.line.seq - b.line.seq);
  return {
    appliance: keyIdOf(key),
    key,
    snapshots: moments,
    pendingCheckpoints: foldable,
    lines,
    statesBySum: statesOf(lines),
  };
}

/** The same, with a document behind it that the vendor signed for this appliance. */
async function signedFor(key: PrivateKey, command: InstallLicense): Promise<InstallLicense> {
  const { license, terms, grant } = command;
  const document = await signLicense(
    {
      iss: keyIdOf(VENDOR_KEY),
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
    VENDOR_KEY,
  );
  const signed = { vendor: keyIdOf(VENDOR_KEY), document, lic: sha256(document) };
  return { ...command, grant: { ...grant, ...signed } };
}

/** The clock is read when a line is due, and folding takes the disk of the moment. */
async function openStore(
  folder: string,
  clock: { now: Instant },
  fold: { with: Disk },
): Promise<Store> {
  const identity = new Identity(realDisk, folder, []);
  return Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: () => clock.now,
    identify: () => identity.create(),
    checkpoint: (where, open) => checkpoint(fold.with, where, open),
    onFatal(error) {
      throw error;
    },
  });
}

/** What a running server leaves in its newest segment: batches of one line and of several. */
async function batches(
  store: Store,
  clock: { now: Instant },
  who: (user: string) => string,
  prefix: string,
): Promise<void> {
  const users = [1, 2, 3, 4].map((count) => who(`${prefix}${count}`));
  await transactInOneBatch(store, register(users[0] ?? ""));
  clock.now = later(clock.now, MINUTE);
  // The first of these is a heartbeat: on no record.
  await transactInOneBatch(store, ...users.slice(0, 3).map((user) => register(user)));
  clock.now = later(clock.now, HOUR);
  await transactInOneBatch(store, consume(1));
  await transactInOneBatch(
    store,
    ...users.map((user) => register(user)),
    consumeFeature("plot", 1),
  );
}

/** The disk of a checkpoint that is killed when its state is written and not yet in place. */
const refusingToRename: Disk = {
  ...realDisk,
  rename() {
    throw makeDiskError("EIO");
  },
};

/** The same folder after some more changes at `at`, with its segment closed and nothing folded. */
async function makePendingCheckpoint(
  folder: string,
  at: Instant,
  named: string,
): Promise<PendingCheckpoint> {
  const copy = `${folder}-${at}`;
  if (!Bun.spawnSync(["cp", "-a", folder, copy]).success) throw new Error(`cp to ${copy} failed`);
  const store = await openStore(copy, { now: at }, { with: refusingToRename });
  await transactInOneBatch(store, register(`zoe of ${named}`), consume(5));
  const before = readTree(copy);
  await store.checkpoint();
  const open = store.health().seq + 1;
  await store.close();
  const tree = new Map([...before, [`journal-${open}.jsonl`, { bytes: new Uint8Array() }]]);
  return { name: new Date(at).toISOString().slice(0, 7), tree, openSegment: open };
}

/** Every line in the journal of a folder. */
function linesIn(tree: FileTree): WrittenLine[] {
  const found: WrittenLine[] = [];
  for (const name of tree.keys()) {
    if (!name.startsWith("journal-")) continue;
    const bytes = fileBytes(tree, name);
    for (let offset = 0; offset < bytes.length;) {
      const end = bytes.indexOf(10, offset) + 1;
      const line = decodeLine(bytes.subarray(offset, end - 1));
      if (line === null) throw new Error(`${name} has a bad line at ${offset}`);
      found.push({ line, raw: bytes.slice(offset, end) });
      offset = end;
    }
  }
  return found;
}

export const serializeState = (state: Parameters<typeof dumpStateSorted>[0]): string =>
  JSON.stringify(dumpStateSorted(state));

function statesOf(lines: readonly WrittenLine[]): Map<string, string> {
  const state = emptyState("site");
  const states = new Map<string, string>();
  for (const { line } of lines) {
    for (const event of line.events) evolve(state, event);
    states.set(line.sum, serializeState(state));
  }
  return states;
}

const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The same name, the same key. */
function keyOf(named: string): PrivateKey {
  const secret = new Bun.CryptoHasher("sha256").update(named).digest();
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8, secret]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return { kty: "OKP", crv: "Ed25519", x, d: secret.toString("base64url") };
}

const VENDOR_KEY = keyOf("the vendor");
