import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIP } from "node:net";
import { boolean, integer, oid, parseDerValues, sequence, tagged } from "./der.ts";

/**
 * Certificates for a site of its own (X.509 v3, ECDSA P-256 with SHA-256): just enough DER to make
 * a CA and what it signs. Reading and checking them is left to the runtime.
 */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** What signs for a site. */
export interface Authority extends IssuedCertificate {
  readonly name: string;
  /** Nothing it signs lasts longer than it does. */
  readonly endsAt: number;
}

export interface SiteAuthority extends Authority {
  /** What clients trust. The key that belongs to it was never written anywhere. */
  readonly root: string;
}

/** What an authority may sign for: these DNS names and those below them, and these addresses. */
export interface NameConstraints {
  readonly names: readonly string[];
  /** Null: any. */
  readonly addresses: readonly string[] | null;
}

const DAY = 24 * 60 * 60 * 1_000;
/** Clients with opinions accept no server certificate that lasts longer. */
const LEAF_DAYS = 825;
const CA_DAYS = 1_826;
/** A client's certificate cannot be revoked, so it does not last long. */
export const DEFAULT_CLIENT_DAYS = 90;
export const MAX_DAYS = LEAF_DAYS;

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const NAME_CONSTRAINTS = "2.5.29.30";

/**
 * A root and what it signs with, limited to TLS and to what it is permitted. There are two because
 * some clients (Java's) heed no limits that stand in the root itself; and since the root's key is
 * forgotten here, nothing can ever be signed past the limits of the other.
 */
export function createAuthority(
  name: string,
  permitted: NameConstraints,
  now: number,
): SiteAuthority {
  const [root, own] = [newPair(), newPair()];
  const endsAt = now + CA_DAYS * DAY;
  const by = { issuer: name, signer: root.privateKey, signerKey: root.publicKey, now, endsAt };
  const limits = (below: number): Buffer[] => [
    extension("2.5.29.19", true, sequence(boolean(true), integer(Buffer.from([below])))),
    // Signs certificates and revocation lists, nothing else.
    extension("2.5.29.15", true, tagged(3, Buffer.from([1, 0b0000_0110]))),
    extension("2.5.29.37", false, sequence(oid(SERVER_AUTH), oid(CLIENT_AUTH))),
    extension(NAME_CONSTRAINTS, true, sequence(tagged(0xa0, ...subtrees(permitted)))),
  ];
  const issuer = `${name} (issuing)`;
  return {
    root: createCertificate({ ...by, subject: name, key: root.publicKey, extensions: limits(1) }),
    name: issuer,
    certificate: createCertificate({
      ...by,
      subject: issuer,
      key: own.publicKey,
      extensions: limits(0),
    }),
    key: pem(own.privateKey),
    endsAt,
  };
}

const newPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

const subtrees = ({ names, addresses }: NameConstraints): Buffer[] => [
  ...names.map((name) => sequence(tagged(0x82, Buffer.from(name)))),
  ...(addresses ?? []).map((address) => {
    const bytes = addressBytes(address);
    return sequence(tagged(0x87, bytes, Buffer.alloc(bytes.length, 0xff)));
  }),
];

/** For a server, by the names and addresses clients call it by. */
export const issueServerCertificate = (
  ca: Authority,
  names: readonly string[],
  now: number,
): IssuedCertificate =>
  issue(ca, names[0] ?? "berth", { now, days: LEAF_DAYS }, [
    extension("2.5.29.37", false, sequence(oid(SERVER_AUTH))),
    extension("2.5.29.17", false, sequence(...names.map(alternative))),
  ]);

interface ValidityPeriod {
  readonly now: number;
  readonly days: number;
}

/**
 * For a client that shows who it is. Two words, because a single one may be taken for a server's
 * name, which the authority is not permitted to sign for.
 */
export const issueClientCertificate = (
  ca: Authority,
  name: string,
  span: ValidityPeriod,
): IssuedCertificate =>
  issue(ca, `client ${name}`, span, [extension("2.5.29.37", false, sequence(oid(CLIENT_AUTH)))]);

function issue(
  ca: Authority,
  subject: string,
  { now, days }: ValidityPeriod,
  more: readonly Buffer[],
): IssuedCertificate {
  const pair = newPair();
  const signer = createPrivateKey(ca.key);
  const certificate = createCertificate({
    subject,
    issuer: ca.name,
    key: pair.publicKey,
    signer,
    signerKey: createPublicKey(signer),
    now,
    endsAt: Math.min(now + days * DAY, ca.endsAt),
    extensions: [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, tagged(3, Buffer.from([7, 0b1000_0000]))),
      ...more,
    ],
  });
  return { certificate, key: pem(pair.privateKey) };
}

interface CertificateFields {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyObject;
  readonly signer: KeyObject;
  readonly signerKey: KeyObject;
  readonly now: number;
  readonly endsAt: number;
  readonly extensions: readonly Buffer[];
}

const ECDSA_SHA256 = "1.2.840.10045.4.3.2";

function createCertificate(what: CertificateFields): string {
  const algorithm = sequence(oid(ECDSA_SHA256));
  // An hour back: a client's clock may run a little behind ours.
  const validity = sequence(time(what.now - DAY / 24), time(what.endsAt));
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(positive(randomBytes(16))),
    algorithm,
    nameOf(what.issuer),
    validity,
    nameOf(what.subject),
    spki(what.key),
    tagged(
      0xa3,
      sequence(
        ...what.extensions,
        extension("2.5.29.14", false, tagged(4, keyId(what.key))),
        extension("2.5.29.35", false, sequence(tagged(0x80, keyId(what.signerKey)))),
      ),
    ),
  );
  const signature = sign("sha256", body, what.signer);
  const whole = sequence(body, algorithm, tagged(3, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" });

const spki = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });

const keyId = (key: KeyObject): Buffer =>
  createHash("sha1").update(spki(key).subarray(-65)).digest();

/** Neither negative nor padded: the first byte lies between 1 and 127. */
const positive = (bytes: Buffer): Buffer => {
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
};

/** Two digits of year until 2049, as the standard has it. */
function time(at: number): Buffer {
  const text = `${new Date(at).toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`;
  const short = text < "2050";
  return tagged(short ? 0x17 : 0x18, Buffer.from(short ? text.slice(2) : text));
}

const nameOf = (common: string): Buffer =>
  sequence(tagged(0x31, sequence(oid("2.5.4.3"), tagged(0x0c, Buffer.from(common)))));

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), tagged(4, value));

const alternative = (name: string): Buffer =>
  isIP(name) === 0 ? tagged(0x82, Buffer.from(name)) : tagged(0x87, addressBytes(name));

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = shortForm(address).split("::");
  const [left, right] = [groups(head), groups(tail ?? "")];
  const middle = tail === undefined ? [] : Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** In hexadecimal groups alone: an address may also be written with an IPv4 one at its end. */
const shortForm = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

const groups = (text: string): number[] =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));

/** What a certificate says it may sign for; null: it does not say, so anything. */
export function readNameConstraints(certificate: string): NameConstraints | null {
  const raw = new X509Certificate(certificate).raw;
  const at = raw.indexOf(oid(NAME_CONSTRAINTS));
  if (at < 0) return null;
  // A critical extension: its name, TRUE, and the value as a string of octets.
  const [, , value] = parseDerValues(raw.subarray(at));
  const [constraints] = parseDerValues(value?.content ?? Buffer.alloc(0));
  const [permitted] = parseDerValues(constraints?.content ?? Buffer.alloc(0));
  const bases = parseDerValues(permitted?.content ?? Buffer.alloc(0)).flatMap(({ content }) =>
    parseDerValues(content).slice(0, 1),
  );
  const names = bases.filter(({ tag }) => tag === 0x82).map(({ content }) => content.toString());
  const addresses = bases.filter(({ tag }) => tag === 0x87).map(({ content }) => textOf(content));
  return { names, addresses: addresses.length === 0 ? null : addresses };
}

/** Whether it is among what may be signed for. */
export function isPermitted({ names, addresses }: NameConstraints, name: string): boolean {
  if (isIP(name) === 0) return names.some((one) => name === one || name.endsWith(`.${one}`));
  const bytes = addressBytes(name);
  return addresses === null || addresses.some((one) => addressBytes(one).equals(bytes));
}

/** Of an address and its mask, the address. */
function textOf(bytes: Buffer): string {
  const address = bytes.subarray(0, bytes.length / 2);
  if (address.length === 4) return address.join(".");
  const text = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i).toString(16));
  return shortForm(text.join(":"));
}
