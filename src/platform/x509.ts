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

/**
 * Certificates for a site of its own (X.509 v3, ECDSA P-256 with SHA-256): just enough DER to make
 * a CA and what it signs. Reading and checking them is left to the runtime.
 */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority extends Issued {
  readonly name: string;
  /** Nothing it signs lasts longer than it does. */
  readonly endsAt: number;
}

const DAY = 24 * 60 * 60 * 1_000;
/** Clients with opinions accept no server certificate that lasts longer. */
const LEAF_DAYS = 825;
const CA_DAYS = 3_650;

export function makeAuthority(name: string, now: number): Authority {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const endsAt = now + CA_DAYS * DAY;
  const certificate = certify({
    subject: name,
    issuer: name,
    key: pair.publicKey,
    signer: pair.privateKey,
    signerKey: pair.publicKey,
    now,
    endsAt,
    extensions: [
      extension("2.5.29.19", true, sequence(boolean(true), integer(Buffer.from([0])))),
      // Signs certificates and revocation lists, nothing else.
      extension("2.5.29.15", true, tagged(3, Buffer.from([1, 0b0000_0110]))),
    ],
  });
  return { name, endsAt, certificate, key: pem(pair.privateKey) };
}

/** For a server, by the names and addresses clients call it by. */
export const issueServer = (ca: Authority, names: readonly string[], now: number): Issued =>
  issue(ca, names[0] ?? "berth", now, [
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.17", false, sequence(...names.map(alternative))),
  ]);

/** For a client that shows who it is. */
export const issueClient = (ca: Authority, name: string, now: number): Issued =>
  issue(ca, name, now, [extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.2")))]);

function issue(ca: Authority, subject: string, now: number, more: readonly Buffer[]): Issued {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signer = createPrivateKey(ca.key);
  const certificate = certify({
    subject,
    issuer: ca.name,
    key: pair.publicKey,
    signer,
    signerKey: createPublicKey(signer),
    now,
    endsAt: Math.min(now + LEAF_DAYS * DAY, ca.endsAt),
    extensions: [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, tagged(3, Buffer.from([7, 0b1000_0000]))),
      ...more,
    ],
  });
  return { certificate, key: pem(pair.privateKey) };
}

interface Certified {
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

function certify(what: Certified): string {
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

/** DER: a tag, the length, the content. */
function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  if (length > 0xffff) throw new Error("too long for a certificate");
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
const integer = (bytes: Buffer): Buffer => tagged(2, bytes);
const boolean = (value: boolean): Buffer => tagged(1, Buffer.from([value ? 0xff : 0]));

/** Neither negative nor padded: the first byte lies between 1 and 127. */
const positive = (bytes: Buffer): Buffer => {
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
};

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(6, Buffer.from(bytes));
}

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
