// Documents that somebody made who is not the vendor, or who is and has no say in this: every trick
// known against signed files. None of them is to be taken.
import { createHmac } from "node:crypto";
import { CompactSign, importJWK } from "jose";
import { DOCUMENT_KINDS, type DocumentKind } from "../../src/license/document.ts";
import { keyIdOf, publicPart, type PrivateKey, type PublicKey } from "../../src/license/keys.ts";
import { mutateDocument } from "../support/mutate-document.ts";

export interface GenuineDocument {
  readonly kind: DocumentKind;
  /** As the vendor signed it. */
  readonly document: string;
  /** Whose it is. */
  readonly signer: PublicKey;
}

interface Forger {
  /** The attacker's own. */
  readonly key: PrivateKey;
  readonly random: () => number;
  /** Other genuine documents, to cut pieces from. */
  readonly others: readonly string[];
}

type Json = Record<string, unknown>;

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const decoded = (part: string | undefined): Json =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString()) as Json;

const headerOf = ({ kind, signer }: GenuineDocument): Json => ({
  alg: "EdDSA",
  typ: `berth-${kind}+jwt`,
  kid: keyIdOf(signer),
});

async function signed(header: Json, payload: string, key: PrivateKey): Promise<string> {
  return new CompactSign(Buffer.from(payload))
    .setProtectedHeader(header as { alg: string })
    .sign(await importJWK(key, "EdDSA"), { crit: { x: true } });
}

const NUMBERS = [0, -1, 1e6, 1e15, 2 ** 53, 1e308, 1.5, -0];
const ODD: readonly unknown[] = [
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

/** A value somewhere in it replaced, removed, or one added. */
function edited(payload: Json, random: () => number): Json {
  const roll = (most: number): number => Math.floor(random() * most);
  const copy = structuredClone(payload);
  let place: Json = copy;
  for (;;) {
    const keys = Object.keys(place);
    const key = keys[roll(keys.length)] ?? "added";
    const inner = place[key];
    if (typeof inner === "object" && inner !== null && roll(3) > 0) {
      place = inner as Json;
      continue;
    }
    if (roll(6) === 0) delete place[key];
    else place[roll(8) === 0 ? "__proto__x" : key] = ODD[roll(ODD.length)];
    return copy;
  }
}

type ForgeryTrick = (genuine: GenuineDocument, forger: Forger) => string | Promise<string>;

const parts = (document: string): [string, string, string] => {
  const [header = "", payload = "", signature = ""] = document.split(".");
  return [header, payload, signature];
};

/** With the vendor's name in the header and the attacker's hand under it. */
const underAnotherHand =
  (more: (forger: Forger) => Json): ForgeryTrick =>
  (genuine, forger) =>
    signed(
      { ...headerOf(genuine), ...more(forger) },
      JSON.stringify(edited(decoded(parts(genuine.document)[1]), forger.random)),
      forger.key,
    );

/** A header nobody signed, before a signature that was made for another. */
const headed =
  (more: (forger: Forger) => Json): ForgeryTrick =>
  (genuine, forger) => {
    const [, payload, signature] = parts(genuine.document);
    return `${encoded({ ...headerOf(genuine), ...more(forger) })}.${payload}.${signature}`;
  };

function hmac(genuine: GenuineDocument, secret: string | Buffer): string {
  const header = encoded({ ...headerOf(genuine), alg: "HS256" });
  const text = `${header}.${parts(genuine.document)[1]}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

export const FORGERY_TRICKS: Readonly<Record<string, ForgeryTrick>> = {
  "small damage": ({ document }, { random }) => mutateDocument(document, random),
  "edited, the signature kept": ({ document }, { random }) => {
    const [header, payload, signature] = parts(document);
    return `${header}.${encoded(edited(decoded(payload), random))}.${signature}`;
  },
  "cut short": ({ document }, { random }) => document.slice(0, random() * document.length),
  "spliced of two": ({ document }, { random, others }) => {
    const other = parts(others[Math.floor(random() * others.length)] ?? "");
    const own = parts(document);
    const which = Math.floor(random() * 3);
    return own.map((part, index) => (index === which ? other[index] : part)).join(".");
  },
  "another kind of document": (_genuine, { random, others }) =>
    others[Math.floor(random() * others.length)] ?? "",
  "signed by another": underAnotherHand(() => ({})),
  "signed by another under his own name": underAnotherHand(({ key }) => ({ kid: keyIdOf(key) })),
  "with his key in the header": underAnotherHand(({ key }) => ({ jwk: publicPart(key) })),
  "with the address of a key": underAnotherHand(() => ({ jku: "http://127.0.0.1:1/keys.json" })),
  "with a certificate's address": underAnotherHand(() => ({ x5u: "http://127.0.0.1:1/x" })),
  "with something critical": underAnotherHand(() => ({ crit: ["x"], x: 1 })),
  "with his key among the vendor's": (genuine, { key }) => {
    const payload = decoded(parts(genuine.document)[1]);
    const keys = [publicPart(key), ...((payload["keys"] as PublicKey[] | undefined) ?? [])];
    const newer = { ...payload, version: Number(payload["version"] ?? 1) + 1, keys };
    return signed({ ...headerOf(genuine), kid: keyIdOf(key) }, JSON.stringify(newer), key);
  },
  "for a path": headed(() => ({ kid: "../../../../dev/null" })),
  "for two keys": headed(({ key }) => ({ kid: [keyIdOf(key)] })),
  "in another type": headed(({ random }) => ({
    typ: `berth-${DOCUMENT_KINDS[Math.floor(random() * DOCUMENT_KINDS.length)]}+jwt`,
    kid: "x",
  })),
  "with no algorithm": (genuine) =>
    `${encoded({ ...headerOf(genuine), alg: "none" })}.${parts(genuine.document)[1]}.`,
  "with no algorithm and a signature": headed(({ random }) => ({
    alg: ["none", "None", "nOnE", "", null][Math.floor(random() * 5)],
  })),
  "HMAC under the public key": (genuine) =>
    hmac(genuine, Buffer.from(genuine.signer.x, "base64url")),
  "HMAC under the public key's text": (genuine) => hmac(genuine, genuine.signer.x),
  "HMAC under the public key's JSON": (genuine) => hmac(genuine, JSON.stringify(genuine.signer)),
  "a header said twice": ({ document, kind, signer }) => {
    const [, payload, signature] = parts(document);
    const header = `{"alg":"none","alg":"EdDSA","typ":"berth-${kind}+jwt","kid":"${keyIdOf(signer)}","kid":"x"}`;
    return `${encoded(header)}.${payload}.${signature}`;
  },
  "a signature of zeros": ({ document }) => {
    const [header, payload] = parts(document);
    return `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`;
  },
  "nested deeply": (genuine, { key, random }) => {
    const depth = 1 + Math.floor(random() * 16_000);
    return signed(headerOf(genuine), "[".repeat(depth) + "]".repeat(depth), key);
  },
  "nested deeply, not signed": (genuine, { random }) => {
    const depth = 1 + Math.floor(random() * 30_000);
    return `${encoded(headerOf(genuine))}.${encoded(`{"a":${"[".repeat(depth)}`)}.AAAA`;
  },
  "no text": (genuine, { key }) => signed(headerOf(genuine), "\u0000\ufffd", key),
  "two megabytes": ({ document }, { random }) =>
    random() < 0.02 ? document.padEnd(2 << 20, "A") : document.padEnd(50_000, "A"),
};
