// Forged documents: every known trick against signed files, by an attacker or by a vendor who is
// not entitled. No site may accept any of them.
import { createHmac } from "node:crypto";
import { CompactSign, importJWK } from "jose";
import { DOCUMENT_KINDS, type DocumentKind } from "../../src/license/documents/document-kinds.ts";
import {
  keyIdOf,
  publicPart,
  type PrivateKey,
  type PublicKey,
} from "../../src/license/documents/keys.ts";
import { mutateDocument } from "../support/mutate-document.ts";

export interface GenuineDocument {
  readonly kind: DocumentKind;
  /** As the vendor signed it. */
  readonly document: string;
  /** The public key of its signer. */
  readonly signer: PublicKey;
}

export interface Forger {
  /** The attacker's key. */
  readonly key: PrivateKey;
  readonly random: () => number;
  /** Other genuine documents, to cut pieces from. */
  readonly others: readonly string[];
}

type Json = Record<string, unknown>;

const encodePart = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const decodePart = (part: string | undefined): Json =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString()) as Json;

const headerOf = ({ document }: GenuineDocument): Json => decodePart(splitDocument(document)[0]);

async function sign(header: Json, payload: string, key: PrivateKey): Promise<string> {
  return new CompactSign(Buffer.from(payload))
    .setProtectedHeader(header as { alg: string })
    .sign(await importJWK(key, "EdDSA"), { crit: { x: true } });
}

const NUMBERS = [0, -1, 1e6, 1e15, 2 ** 53, 1e308, 1.5, -0];
const ODD_VALUES: readonly unknown[] = [
  ...NUMBERS,
  null,
  true,
  "",
  "x".repeat(300),
  "__proto__",
  [],
  { deep: [[[[[[[[]]]]]]]] },
  "9999-12-31T23:59:59.999Z",
];

/** Replaces, removes or adds one value somewhere in the payload. */
function editRandomly(payload: Json, random: () => number): Json {
  const roll = (most: number): number => Math.floor(random() * most);
  const copy = structuredClone(payload);
  let parent: Json = copy;
  for (;;) {
    const keys = Object.keys(parent);
    const key = keys[roll(keys.length)] ?? "added";
    const inner = parent[key];
    if (typeof inner === "object" && inner !== null && roll(3) > 0) {
      parent = inner as Json;
      continue;
    }
    if (roll(6) === 0) delete parent[key];
    else parent[roll(8) === 0 ? "__proto__x" : key] = ODD_VALUES[roll(ODD_VALUES.length)];
    return copy;
  }
}

/** The machine of the document, and one that the vendor did not name. */
function addHost(payload: Json, random: () => number): Json {
  const digits = Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16));
  return { ...payload, hosts: [payload["hardware_id"] ?? "", digits.join("")] };
}

type ForgeryTrick = (genuine: GenuineDocument, forger: Forger) => string | Promise<string>;

const splitDocument = (document: string): [string, string, string] => {
  const [header = "", payload = "", signature = ""] = document.split(".");
  return [header, payload, signature];
};

/** The header names the vendor's key, but the attacker's key signs. */
const signedByAttacker =
  (extraHeader: (forger: Forger) => Json): ForgeryTrick =>
  (genuine, forger) =>
    sign(
      { ...headerOf(genuine), ...extraHeader(forger) },
      JSON.stringify(editRandomly(decodePart(splitDocument(genuine.document)[1]), forger.random)),
      forger.key,
    );

/** A changed header with the genuine signature, which does not match it. */
const withHeader =
  (extraHeader: (forger: Forger) => Json): ForgeryTrick =>
  (genuine, forger) => {
    const [, payload, signature] = splitDocument(genuine.document);
    return `${encodePart({ ...headerOf(genuine), ...extraHeader(forger) })}.${payload}.${signature}`;
  };

function signWithHmac(genuine: GenuineDocument, secret: string | Buffer): string {
  const header = encodePart({ ...headerOf(genuine), alg: "HS256" });
  const text = `${header}.${splitDocument(genuine.document)[1]}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

export const FORGERY_TRICKS: Readonly<Record<string, ForgeryTrick>> = {
  "small damage": ({ document }, { random }) => mutateDocument(document, random),
  "edited, the signature kept": ({ document }, { random }) => {
    const [header, payload, signature] = splitDocument(document);
    return `${header}.${encodePart(editRandomly(decodePart(payload), random))}.${signature}`;
  },
  "another host added, the signature kept": ({ document }, { random }) => {
    const [header, payload, signature] = splitDocument(document);
    return `${header}.${encodePart(addHost(decodePart(payload), random))}.${signature}`;
  },
  "another host added, signed by the attacker": (genuine, { key, random }) =>
    sign(
      headerOf(genuine),
      JSON.stringify(addHost(decodePart(splitDocument(genuine.document)[1]), random)),
      key,
    ),
  "cut short": ({ document }, { random }) => document.slice(0, random() * document.length),
  "spliced from two documents": ({ document }, { random, others }) => {
    const other = splitDocument(others[Math.floor(random() * others.length)] ?? "");
    const replaced = Math.floor(random() * 3);
    return splitDocument(document)
      .map((part, index) => (index === replaced ? other[index] : part))
      .join(".");
  },
  "another kind of document": (_genuine, { random, others }) =>
    others[Math.floor(random() * others.length)] ?? "",
  "signed by the attacker": signedByAttacker(() => ({})),
  "signed by the attacker under its own key id": signedByAttacker(({ key }) => ({
    kid: keyIdOf(key),
  })),
  "with the attacker's key in the header": signedByAttacker(({ key }) => ({
    jwk: publicPart(key),
  })),
  "with the URL of a key": signedByAttacker(() => ({ jku: "http://127.0.0.1:1/keys.json" })),
  "with the URL of a certificate": signedByAttacker(() => ({ x5u: "http://127.0.0.1:1/x" })),
  "with an unknown critical header": signedByAttacker(() => ({ crit: ["x"], x: 1 })),
  "with the attacker's key among the vendor's": (genuine, { key }) => {
    const payload = decodePart(splitDocument(genuine.document)[1]);
    const keys = [publicPart(key), ...((payload["keys"] as PublicKey[] | undefined) ?? [])];
    const newer = { ...payload, version: Number(payload["version"] ?? 1) + 1, keys };
    return sign({ ...headerOf(genuine), kid: keyIdOf(key) }, JSON.stringify(newer), key);
  },
  "with a path as key id": withHeader(() => ({ kid: "../../../../dev/null" })),
  "with a list as key id": withHeader(({ key }) => ({ kid: [keyIdOf(key)] })),
  "with another type": withHeader(({ random }) => ({
    typ: `berth-${DOCUMENT_KINDS[Math.floor(random() * DOCUMENT_KINDS.length)]}+jwt`,
    kid: "x",
  })),
  "with no algorithm": (genuine) =>
    `${encodePart({ ...headerOf(genuine), alg: "none" })}.${splitDocument(genuine.document)[1]}.`,
  "with no algorithm and a signature": withHeader(({ random }) => ({
    alg: ["none", "None", "nOnE", "", null][Math.floor(random() * 5)],
  })),
  "HMAC under the public key": (genuine) =>
    signWithHmac(genuine, Buffer.from(genuine.signer.x, "base64url")),
  "HMAC under the public key's text": (genuine) => signWithHmac(genuine, genuine.signer.x),
  "HMAC under the public key's JSON": (genuine) =>
    signWithHmac(genuine, JSON.stringify(genuine.signer)),
  "with header fields twice": ({ document, kind, signer }) => {
    const [, payload, signature] = splitDocument(document);
    const header = `{"alg":"none","alg":"EdDSA","typ":"berth-${kind}+jwt","kid":"${keyIdOf(signer)}","kid":"x"}`;
    return `${encodePart(header)}.${payload}.${signature}`;
  },
  "with a signature of zeros": ({ document }) => {
    const [header, payload] = splitDocument(document);
    return `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`;
  },
  "nested deeply": (genuine, { key, random }) => {
    const depth = 1 + Math.floor(random() * 16_000);
    return sign(headerOf(genuine), "[".repeat(depth) + "]".repeat(depth), key);
  },
  "nested deeply, not signed": (genuine, { random }) => {
    const depth = 1 + Math.floor(random() * 30_000);
    return `${encodePart(headerOf(genuine))}.${encodePart(`{"a":${"[".repeat(depth)}`)}.AAAA`;
  },
  "with a payload that is no text": (genuine, { key }) =>
    sign(headerOf(genuine), "\u0000\ufffd", key),
  "padded to two megabytes": ({ document }, { random }) =>
    random() < 0.02 ? document.padEnd(2 << 20, "A") : document.padEnd(50_000, "A"),
};
