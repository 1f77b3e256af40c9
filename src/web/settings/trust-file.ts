import { toCrockford } from "../../license/code.ts";

/** What a trust file says of itself, to be looked at before it is believed. */
export interface TrustFile {
  readonly name: string;
  readonly products: readonly string[];
  /** Null: this browser computes nothing at a plain address. */
  readonly fingerprint: string | null;
}

const FINGERPRINT_BITS = 100;

/**
 * Reads what a person compares. Whether it is signed, and by whom, the server finds out; null: it
 * is no trust file at all.
 */
export async function readTrustFile(text: string): Promise<TrustFile | null> {
  const [head = "", body = ""] = text.trim().split(".");
  const kind = (parse(head) as { readonly typ?: unknown } | null)?.typ;
  const said = parse(body) as Partial<Said> | null;
  const x = said?.keys?.[0]?.x;
  const key = typeof x === "string" ? bytesOf(x) : null;
  if (kind !== "berth-trust+jwt" || typeof said?.name !== "string" || key?.length !== 32) {
    return null;
  }
  return {
    name: said.name,
    products: (said.products ?? []).map(String),
    fingerprint: await fingerprintOf(key),
  };
}

interface Said {
  readonly name: unknown;
  readonly products: readonly unknown[];
  readonly keys: readonly { readonly x?: unknown }[];
}

/** The same as the vendor reads out and `berth trust list` shows. */
async function fingerprintOf(key: Uint8Array<ArrayBuffer>): Promise<string | null> {
  // Only over TLS and on the machine itself does a browser offer it.
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (subtle === undefined) return null;
  const digest = new Uint8Array(await subtle.digest("SHA-256", key));
  return toCrockford(digest, FINGERPRINT_BITS).replaceAll(/.{5}(?=.)/g, "$&-");
}

function parse(part: string): unknown {
  const bytes = bytesOf(part);
  if (bytes === null) return null;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(base64url)) return null;
  try {
    const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(text, (char) => char.codePointAt(0) ?? 0);
  } catch {
    return null;
  }
}
