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
 * Certificates of a site's own CA (X.509 v3, ECDSA P-256 with SHA-256): just enough DER to create a
 * CA and the certificates it signs. The runtime parses and verifies them.
 */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** A CA that signs certificates of a site. */
export interface Authority extends IssuedCertificate {
  readonly name: string;
  /** No certificate that it signs expires later. */
  readonly endsAt: number;
}

export interface SiteAuthority extends Authority {
  /** The root certificate that clients trust. Its private key is never stored. */
  readonly root: string;
}

/** What an authority may sign for: these DNS names with their subdomains, and these addresses. */
export interface NameConstraints {
  readonly names: readonly string[];
  /** Null: any. */
  readonly addresses: readonly string[] | null;
}

const DAY = 24 * 60 * 60 * 1_000;
/** Apple's clients reject server certificates that are valid for longer. */
const LEAF_DAYS = 825;
const CA_DAYS = 1_826;
/** A client certificate cannot be revoked, so it is valid for a short time only. */
export const DEFAULT_CLIENT_DAYS = 90;
export const MAX_DAYS = LEAF_DAYS;

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const NAME_CONSTRAINTS = "2.5.29.30";

/**
 * Creates a root and an issuing CA, limited to TLS and to the permitted names. There are two
 * because some clients (Java's) ignore name constraints in the root itself. The root's key is
 * discarded here, so nothing can ever be signed outside the constraints of the issuing CA.
 */
export function createAuthority(
  name: string,
  permitted: NameConstraints,
  now: number,
): SiteAuthority {
  const [root, issuing] = [newPair(), newPair()];
  const endsAt = now + CA_DAYS * DAY;
  const rootSigned = {
    issuer: name,
    signer: root.privateKey,
    signerKey: root.publicKey,
    now,
    endsAt,
  };
  const constraints = (pathLength: number): Buffer[] => [
    extension("2.5.29.19", true, sequence(boolean(true), integer(Buffer.from([pathLength])))),
    // Key usage: sign certificates and revocation lists only.
    extension("2.5.29.15", true, tagged(3, Buffer.from([1, 0b0000_0110]))),
    extension("2.5.29.37", false, sequence(oid(SERVER_AUTH), oid(CLIENT_AUTH))),
    extension(NAME_CONSTRAINTS, true, sequence(tagged(0xa0, ...subtrees(permitted)))),
  ];
  const issuer = `${name} (issuing)`;
  return {
    root: createCertificate({
      ...rootSigned,
      subject: name,
      key: root.publicKey,
      extensions: constraints(1),
    }),
    name: issuer,
    certificate: createCertificate({
      ...rootSigned,
      subject: issuer,
      key: issuing.publicKey,
      extensions: constraints(0),
    }),
    key: pem(issuing.privateKey),
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

/** A server certificate for the names and addresses that clients use. */
export const issueServerCertificate = (
  ca: Authority,
  names: readonly string[],
  now: number,
): IssuedCertificate =>
  issue(ca, names[0] ?? "berth", { now, days: LEAF_DAYS }, [
    extension("2.5.29.37", false, sequence(oid(SERVER_AUTH))),
    extension("2.5.29.17", false, sequence(...names.map(alternativeName))),
  ]);

interface ValidityPeriod {
  readonly now: number;
  readonly days: number;
}

/**
 * A client certificate. Its subject has two words, because a single one may be read as a server
 * name that the authority is not permitted to sign for.
 */
export const issueClientCertificate = (
  ca: Authority,
  name: string,
  period: ValidityPeriod,
): IssuedCertificate =>
  issue(ca, `client ${name}`, period, [extension("2.5.29.37", false, sequence(oid(CLIENT_AUTH)))]);

function issue(
  ca: Authority,
  subject: string,
  { now, days }: ValidityPeriod,
  extensions: readonly Buffer[],
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
      ...extensions,
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

function createCertificate(fields: CertificateFields): string {
  const algorithm = sequence(oid(ECDSA_SHA256));
  // Valid from an hour ago: a client's clock may be a little behind.
  const validity = sequence(time(fields.now - DAY / 24), time(fields.endsAt));
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(positive(randomBytes(16))),
    algorithm,
    distinguishedName(fields.issuer),
    validity,
    distinguishedName(fields.subject),
    spki(fields.key),
    tagged(
      0xa3,
      sequence(
        ...fields.extensions,
        extension("2.5.29.14", false, tagged(4, keyId(fields.key))),
        extension("2.5.29.35", false, sequence(tagged(0x80, keyId(fields.signerKey)))),
      ),
    ),
  );
  const signature = sign("sha256", body, fields.signer);
  const certificate = sequence(
    body,
    algorithm,
    tagged(3, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" });

const spki = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });

const keyId = (key: KeyObject): Buffer =>
  createHash("sha1").update(spki(key).subarray(-65)).digest();

/** Neither negative nor padded: the first byte is between 1 and 127. */
const positive = (bytes: Buffer): Buffer => {
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
};

/** The standard requires a year of two digits up to 2049. */
function time(at: number): Buffer {
  const text = `${new Date(at).toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`;
  const short = text < "2050";
  return tagged(short ? 0x17 : 0x18, Buffer.from(short ? text.slice(2) : text));
}

const distinguishedName = (common: string): Buffer =>
  sequence(tagged(0x31, sequence(oid("2.5.4.3"), tagged(0x0c, Buffer.from(common)))));

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), tagged(4, value));

const alternativeName = (name: string): Buffer =>
  isIP(name) === 0 ? tagged(0x82, Buffer.from(name)) : tagged(0x87, addressBytes(name));

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = shortForm(address).split("::");
  const [left, right] = [groups(head), groups(tail ?? "")];
  const middle = tail === undefined ? [] : Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Hexadecimal groups only: an IPv6 address may also be written with an IPv4 address at its end. */
const shortForm = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

const groups = (text: string): number[] =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));

/** The name constraints of a certificate; null: none, so it may sign for any name. */
export function readNameConstraints(certificate: string): NameConstraints | null {
  const raw = new X509Certificate(certificate).raw;
  const at = raw.indexOf(oid(NAME_CONSTRAINTS));
  if (at < 0) return null;
  // A critical extension: its id, TRUE, and the value as an octet string.
  const [, , value] = parseDerValues(raw.subarray(at));
  const [constraints] = parseDerValues(value?.content ?? Buffer.alloc(0));
  const [permitted] = parseDerValues(constraints?.content ?? Buffer.alloc(0));
  const bases = parseDerValues(permitted?.content ?? Buffer.alloc(0)).flatMap(({ content }) =>
    parseDerValues(content).slice(0, 1),
  );
  const names = bases.filter(({ tag }) => tag === 0x82).map(({ content }) => content.toString());
  const addresses = bases
    .filter(({ tag }) => tag === 0x87)
    .map(({ content }) => addressText(content));
  return { names, addresses: addresses.length === 0 ? null : addresses };
}

/** Whether the constraints permit a name or an address. */
export function isPermitted({ names, addresses }: NameConstraints, name: string): boolean {
  if (isIP(name) === 0)
    return names.some((permitted) => name === permitted || name.endsWith(`.${permitted}`));
  const bytes = addressBytes(name);
  return addresses === null || addresses.some((permitted) => addressBytes(permitted).equals(bytes));
}

/** The address of an address with its mask. */
function addressText(bytes: Buffer): string {
  const address = bytes.subarray(0, bytes.length / 2);
  if (address.length === 4) return address.join(".");
  const text = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i).toString(16));
  return shortForm(text.join(":"));
}
