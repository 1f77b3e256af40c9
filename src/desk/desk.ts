import { join } from "node:path";
import { DAY, instant, later, SECOND, type Instant } from "../domain/time.ts";
import type { IssuingKey } from "../license/documents/document.ts";
import { signKeyRequest } from "../license/documents/key-request.ts";
import { verifyCertificate, type KeyCertificate } from "../license/documents/certificate.ts";
import { generateKey, keyIdOf, publicPart, type PrivateKey } from "../license/documents/keys.ts";
import type { Signer, Vendor } from "../license/documents/trust.ts";
import { wallClock } from "../platform/clock.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import {
  describeEndOfKey,
  endOfKey,
  loadDeskRecords,
  readDeskTrust,
  readRecords,
  refuseRootInside,
  stateOfKey,
  type CertifiedKey,
  type DeskRecords,
  type KeyState,
} from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";
import { issuingKeyFile, listIssuingKeys } from "./key-file.ts";
import { Ledger, withDeskLock, type Append } from "./ledger/ledger.ts";
import { LEDGER_FILE } from "./ledger/ledger-lines.ts";
import { Root } from "./root.ts";
import { TRUST_FILE, type TrustDocument } from "./trust-document.ts";

export interface NewDesk {
  readonly name: string;
  readonly products: readonly string[];
  /** Of the desk's issuing key. */
  readonly passphrase: string | null;
  /** Default: none. */
  readonly rootPassphrase?: string | null;
}

/** So long an issuing key is certified, if nothing else is said. */
const USUAL_KEY_DAYS = 5 * 365;

/** Where the root of a new vendor is put. */
export const usualRootFolder = (folder: string): string => `${folder}-root`;

/** A vendor's licensing desk: its issuing key, its newest trust document and its ledger. */
export class Desk implements DeskRecords {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #passphrase: string | null;
  readonly ledger: Ledger;
  readonly notes: readonly string[];
  #records: DeskRecords;
  #issuing: IssuingKey;
  /** Earlier keys that were opened: a passphrase takes a moment. */
  readonly #earlier = new Map<string, PrivateKey>();

  private constructor(
    disk: Disk,
    folder: string,
    passphrase: string | null,
    records: DeskRecords,
    issuing: IssuingKey,
  ) {
    this.#disk = disk;
    this.#folder = folder;
    this.#passphrase = passphrase;
    this.ledger = records.ledger;
    this.notes = records.notes;
    this.#records = records;
    this.#issuing = issuing;
  }

  get vendor(): Vendor {
    return this.#records.vendor;
  }

  get trust(): TrustDocument {
    return this.#records.trust;
  }

  get keys(): readonly CertifiedKey[] {
    return this.#records.keys;
  }

  /** The current key, which signs. */
  get issuing(): IssuingKey {
    return this.#issuing;
  }

  /** Called before the user is asked for a new passphrase. */
  static refuseExisting(disk: Disk, folder: string): void {
    refuseRootInside(disk, folder);
    if (disk.stat(folder) === null || disk.stat(join(folder, LEDGER_FILE)) === null) return;
    throw new DeskRefused(`${folder} is already a desk`, "specify another folder with --dir DIR");
  }

  /** Creates a vendor: its root in a folder beside the desk, and the desk with an issuing key. */
  static async create(
    disk: Disk,
    folder: string,
    { name, products, passphrase, rootPassphrase = null }: NewDesk,
    rootFolder: string = usualRootFolder(folder),
  ): Promise<Desk> {
    Desk.refuseExisting(disk, folder);
    const root = await Root.create(disk, rootFolder, {
      name,
      products,
      passphrase: rootPassphrase,
    });
    return Desk.createFor(disk, folder, root, passphrase);
  }

  /** Creates a desk for a root that exists. The ledger comes last: until then there is no desk. */
  static async createFor(
    disk: Disk,
    folder: string,
    root: Root,
    passphrase: string | null,
    period = usualPeriod(),
  ): Promise<Desk> {
    Desk.refuseExisting(disk, folder);
    disk.makeFolder(folder);
    const key = await generateKey();
    const cert = await root.certify(publicPart(key), period);
    await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${root.trust.document}\n`));
    await issuingKeyFile(disk, folder, keyIdOf(key)).write(key, passphrase);
    const at = rfc3339(wallClock());
    const entries = [trustEntry(root.trust, at), keyEntry(key, cert, period.until, at)];
    await Ledger.create(disk, folder, entries);
    return Desk.open(disk, folder, passphrase);
  }

  /**
   * Opens a desk for signing, after finishing what an interrupted command left. `loaded`: its
   * records, if they were read before.
   */
  static async open(
    disk: Disk,
    folder: string,
    passphrase: string | null,
    now: Instant = wallClock(),
    loaded: DeskRecords | null = null,
  ): Promise<Desk> {
    const records = loaded ?? (await loadDeskRecords(disk, folder));
    records.ledger.refuseIfIncomplete();
    const issuing = await readIssuingKey(disk, folder, passphrase, records, now);
    const isRewritten = await rewriteTrustFile(disk, folder, records);
    const notes = [
      ...records.ledger.notes,
      ...(isRewritten ? [`${TRUST_FILE} was written again from the ledger`] : []),
      ...describeEndOfKey(records, now),
    ];
    return new Desk(disk, folder, passphrase, { ...records, notes }, issuing);
  }

  /**
   * What `work` decides, signs and appends is one step: no other command writes to the desk
   * meanwhile, and all that others wrote is known. Nothing waits for a person in it.
   */
  transact<T>(work: (append: Append) => Promise<T>): Promise<T> {
    const { ledger } = this;
    return ledger.transact(async (append) => {
      const before = this.#records;
      const records = await readRecords(this.#disk, this.#folder, ledger);
      if (
        records.keys[0]?.cert !== before.keys[0]?.cert ||
        records.trust.document !== before.trust.document
      ) {
        const passphrase = this.#passphrase;
        this.#issuing = await readIssuingKey(
          this.#disk,
          this.#folder,
          passphrase,
          records,
          wallClock(),
        );
        this.#records = records;
      }
      return work(append);
    });
  }

  /** A key that signed before: only codes of its own policies are still signed with it. */
  async openKey({ key: { x }, certificate }: Signer, now: Instant): Promise<PrivateKey> {
    const key = this.keys.find((candidate) => candidate.certificate.cnf.jwk.x === x);
    const state = key && stateOfKey(this, { ...key, certificate }, now);
    if (key === undefined || state === undefined || state === "retired" || state === "ended") {
      const id = keyIdOf(certificate.cnf.jwk);
      const problem = state === undefined ? "is not a key of this desk" : UNUSABLE[state];
      throw new DeskRefused(
        `the policy is signed with the key ${id}, which ${problem}`,
        "make the policy again with berth vendor policy, and take it to the site",
      );
    }
    if (x === this.issuing.key.x) return this.issuing.key;
    const opened =
      this.#earlier.get(x) ??
      (await readCertifiedKey(this.#disk, this.#folder, this.#passphrase, key));
    this.#earlier.set(x, opened);
    return opened;
  }

  /**
   * Accepts a newer trust document of the same root. False: the ledger has it already; its file is
   * written again if an interrupted command did not.
   */
  static async acceptTrust(disk: Disk, folder: string, trust: TrustDocument): Promise<boolean> {
    return withRecords(disk, folder, async (records, append) => {
      if (records.trust.document === trust.document)
        return recordTrust(disk, folder, records, append);
      const { vendor } = records;
      if (vendor.jwk.x !== trust.vendor.jwk.x) throw otherRoot(vendor.vendor);
      if (trust.vendor.version <= vendor.version) {
        const isOlder = trust.vendor.version < vendor.version;
        throw new DeskRefused(
          isOlder
            ? `the desk has version ${vendor.version} of the trust document, and this is version ${trust.vendor.version}`
            : `this is another version ${vendor.version} of the trust document than that of the desk`,
          isOlder
            ? "if the root signed it just now: copy the desk's trust.jwt into the root's folder, and run that command again"
            : "the root signed both: copy the desk's trust.jwt into the root's folder, and run the command that signed this one again",
        );
      }
      const missing = vendor.retired.filter((id) => !trust.vendor.retired.includes(id));
      if (missing.length > 0) {
        throw new DeskRefused(
          `this trust document no longer retires ${missing.join(", ")}, but retirements only grow`,
          `retire it again: berth vendor key retire ${missing.join(" ")} --root DIR`,
        );
      }
      await append(trustEntry(trust, rfc3339(wallClock())));
      await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${trust.document}\n`));
      return true;
    });
  }

  /** Makes a certified key the current one. Its key must be in the folder. False: it is known. */
  static async acceptCertificate(disk: Disk, folder: string, cert: string): Promise<boolean> {
    return withRecords(disk, folder, async (records, append) => {
      const { vendor, keys } = records;
      const verified = await verifyCertificate(cert, vendor, []);
      if (!verified.ok) throw otherRoot(vendor.vendor);
      const { jwk } = verified.value.cnf;
      const id = keyIdOf(jwk);
      if (keys.some((key) => key.cert === cert)) return false;
      refuseUnusable(records, id, verified.value, wallClock());
      if (!listIssuingKeys(disk, folder).includes(id)) {
        throw new DeskRefused(
          `the certificate is for the key ${id}, which is not in ${folder}`,
          "berth vendor key new makes a key and the request for its certificate",
        );
      }
      if (verified.value.trust > vendor.version) {
        throw new DeskRefused(
          `the certificate needs version ${verified.value.trust} of the trust document, and the desk has ${vendor.version}`,
          "accept the trust.jwt of the root first: berth vendor accept trust.jwt FILE",
        );
      }
      const entry = {
        type: "key" as const,
        at: rfc3339(wallClock()),
        key: id,
        until: rfc3339(endOfKey({ certificate: verified.value })),
        cert,
      };
      await append(entry);
      return true;
    });
  }

  /** Makes an issuing key that has no certificate yet, and the request for one. */
  static async makeKey(
    disk: Disk,
    folder: string,
    passphrase: string | null,
  ): Promise<{ readonly id: string; readonly request: string }> {
    const { vendor } = await readDeskTrust(disk, folder);
    const key = await generateKey();
    const id = keyIdOf(key);
    const request = await signKeyRequest({ vendor: vendor.vendor, jwk: publicPart(key) }, key);
    await issuingKeyFile(disk, folder, id).write(key, passphrase);
    return { id, request };
  }

  /** Refuses a passphrase that opens no key of the desk. A retired or ended one counts, too. */
  static async refuseWrongPassphrase(
    disk: Disk,
    folder: string,
    passphrase: string | null,
  ): Promise<void> {
    const { keys } = await loadDeskRecords(disk, folder);
    const ids = [...new Set([...keys.map(({ id }) => id), ...listIssuingKeys(disk, folder)])];
    for (const id of ids)
      if ((await issuingKeyFile(disk, folder, id).tryRead(passphrase)) !== null) return;
    const [current] = ids;
    if (current === undefined) throw new DeskRefused(`${folder} has no key`, NEW_KEY_HINT);
    await issuingKeyFile(disk, folder, current).read(passphrase);
  }

  /** Sets, changes or (null) removes the passphrase of all keys that the old one opens. */
  static changePassphrase(
    disk: Disk,
    folder: string,
    old: string | null,
    next: string | null,
  ): Promise<PassphraseChange> {
    return withDeskLock(disk, folder, async () => {
      const result: { changed: string[]; unchanged: string[] } = { changed: [], unchanged: [] };
      for (const id of listIssuingKeys(disk, folder)) {
        const file = issuingKeyFile(disk, folder, id);
        const key = await file.tryRead(old);
        if (key !== null) await file.write(key, next);
        (key === null ? result.unchanged : result.changed).push(id);
      }
      return result;
    });
  }
}

export interface PassphraseChange {
  readonly changed: readonly string[];
  /** Keys that the old passphrase does not open: they stay as they are. */
  readonly unchanged: readonly string[];
}

export const usualPeriod = (now: Instant = wallClock()) => ({
  from: now,
  until: later(now, USUAL_KEY_DAYS * DAY),
});

async function withRecords<T>(
  disk: Disk,
  folder: string,
  work: (records: DeskRecords, append: Append) => Promise<T>,
): Promise<T> {
  const { ledger } = await loadDeskRecords(disk, folder);
  return ledger.transact(async (append) => work(await readRecords(disk, folder, ledger), append));
}

/** The key that signs now. */
async function readIssuingKey(
  disk: Disk,
  folder: string,
  passphrase: string | null,
  records: DeskRecords,
  now: Instant,
): Promise<IssuingKey> {
  const current = requireCurrentKey(records, now);
  const key = await readCertifiedKey(disk, folder, passphrase, current);
  return { key, cert: current.cert };
}

async function readCertifiedKey(
  disk: Disk,
  folder: string,
  passphrase: string | null,
  { id, certificate }: CertifiedKey,
): Promise<PrivateKey> {
  const read = await issuingKeyFile(disk, folder, id).read(passphrase);
  // All 32 bytes: the id is shorter.
  if (read.x === certificate.cnf.jwk.x) return read;
  throw new DeskRefused(
    `the file of the key ${id} contains another key, ${keyIdOf(read)}`,
    "restore it from a backup",
  );
}

const UNUSABLE: Readonly<Record<KeyState, string>> = {
  current: "",
  earlier: "",
  ended: "has ended",
  retired: "is retired",
};

const otherRoot = (vendor: string): DeskRefused =>
  new DeskRefused(
    `this is not signed by the root of the desk, ${vendor}`,
    "berth vendor inspect FILE shows what it is",
  );

/** A certificate that would leave the desk without a key that signs, or with an older one. */
function refuseUnusable(
  records: DeskRecords,
  id: string,
  certificate: KeyCertificate,
  now: Instant,
): void {
  if (records.vendor.retired.includes(id)) {
    throw new DeskRefused(`the certificate is for the key ${id}, which is retired`, NEW_KEY_HINT);
  }
  if (certificate.until * SECOND <= now) {
    throw new DeskRefused(
      `the certificate of the key ${id} ended on ${dayOf(certificate.until)}`,
      `if it was made just now, ${CLOCK_HINT}; else ${NEW_KEY_HINT}`,
    );
  }
  if (certificate.iat * SECOND > now) {
    throw new DeskRefused(
      `the certificate of the key ${id} begins on ${rfc3339(instant(certificate.iat * SECOND))}, later than now`,
      CLOCK_HINT,
    );
  }
  const [current] = records.keys;
  if (current === undefined || stateOfKey(records, current, now) !== "current") return;
  if (certificate.iat >= current.certificate.iat) return;
  throw new DeskRefused(
    `the certificate of the key ${id}, of ${dayOf(certificate.iat)}, is older than that of the current key, ${current.id}`,
    `to sign with that key, certify it again: berth vendor key certify; if it was made just now, ${CLOCK_HINT}`,
  );
}

const dayOf = (seconds: number): string => rfc3339(instant(seconds * SECOND)).slice(0, 10);

const NEW_KEY_HINT = "make a new one: berth vendor key new, certified by the root";

const CLOCK_HINT = "check the clock of this machine and that of the root's";

/** The key that signs now; refused if it may not. */
function requireCurrentKey(records: DeskRecords, now: Instant): CertifiedKey {
  const [current] = records.keys;
  if (current === undefined) {
    throw new DeskRefused(
      "the desk has no certified key",
      "berth vendor accept takes its certificate from the root's folder; berth vendor key new makes another one",
    );
  }
  const state = stateOfKey(records, current, now);
  if (state === "retired" || state === "ended") {
    const end = state === "ended" ? ` on ${rfc3339(endOfKey(current)).slice(0, 10)}` : "";
    throw new DeskRefused(
      `the key ${current.id} of this desk ${state === "ended" ? "ended" : "is retired"}${end}`,
      NEW_KEY_HINT,
    );
  }
  if (current.certificate.iat * SECOND > now) {
    throw new DeskRefused(
      `the certificate of the key ${current.id} begins later than now`,
      CLOCK_HINT,
    );
  }
  return current;
}

/** Completes ledger and file with the newest document. False: the ledger has it already. */
async function recordTrust(
  disk: Disk,
  folder: string,
  { trust, ledger }: DeskRecords,
  append: Append,
): Promise<boolean> {
  // The file of a desk may have been copied there by hand.
  const isNew = ledger.trustEntries().every(({ document }) => document !== trust.document);
  if (isNew) await append(trustEntry(trust, rfc3339(wallClock())));
  const { fileFault, document } = await readDeskTrust(disk, folder);
  if (fileFault !== null)
    await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${document}\n`));
  return isNew;
}

/** True: it was missing, or older than in the ledger. */
async function rewriteTrustFile(
  disk: Disk,
  folder: string,
  { ledger }: DeskRecords,
): Promise<boolean> {
  const { fileFault } = await readDeskTrust(disk, folder, ledger.trustEntries());
  if (fileFault === null) return false;
  return withDeskLock(disk, folder, async () => {
    const { document } = await readDeskTrust(disk, folder);
    await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${document}\n`));
    return true;
  });
}

const trustEntry = ({ vendor, document }: TrustDocument, at: string) => ({
  type: "trust" as const,
  at,
  version: vendor.version,
  products: vendor.products,
  retired: vendor.retired,
  document,
});

const keyEntry = (key: PrivateKey, cert: string, until: Instant, at: string) => ({
  type: "key" as const,
  at,
  key: keyIdOf(key),
  until: rfc3339(until),
  cert,
});
