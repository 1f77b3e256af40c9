import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from "node:crypto";
import { isIP } from "node:net";
import { addressBytes } from "./address-bytes.ts";
import { boolean, integer, oid, sequence, tagged } from "./der.ts";
import {
  encodeNameConstraints,
  NAME_CONSTRAINTS,
  type NameConstraints,
} from "./name-constraints.ts";

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

const DAY = 24 * 60 * 60 * 1_000;
/** Apple's clients reject server certificates that are valid for longer. */
const LEAF_DAYS = 825;
const CA_DAYS = 1_826;
/** A client certificate cannot be revoked, so it is valid for a short time only. */
export const DEFAULT_CLIENT_DAYS = 90;
export const MAX_DAYS = LEAF_DAYS;

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

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
    extension(NAME_CONSTRAINTS, true, encodeNameConstraints(permitted)),
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
