import { DOCUMENT_KINDS, type DocumentKind } from "../../license/documents/document-kinds.ts";

/** The kind that a text claims to be, to decide what to offer; only the server verifies it. */
export function documentKindOf(text: string): DocumentKind | null {
  const [head = "", ...rest] = text.trim().split(".");
  if (rest.length !== 2) return null;
  const typ = parseJsonPart(head)?.["typ"];
  return DOCUMENT_KINDS.find((kind) => typ === `berth-${kind}+jwt`) ?? null;
}

/** A document as it is, or decoded from base64, without white space. */
export function normalizeDocument(text: string): string {
  const plain = text.replaceAll(/\s/g, "");
  return plain.includes(".") ? plain : (decodeBase64(plain) ?? plain);
}

/** What a license claims, so that a person can see what is installed before it is. */
export interface LicenseClaims {
  readonly license_id: number;
  readonly product: string;
  readonly slots: number;
  readonly valid_until: string | null;
}

export function parseLicenseClaims(text: string): LicenseClaims | null {
  const { license_id, terms } = parseJsonPart(text.trim().split(".")[1] ?? "") ?? {};
  const { product, slots, valid_until } = (terms ?? {}) as Readonly<Record<string, unknown>>;
  const isEnd = typeof valid_until === "string" || valid_until === null;
  if (typeof license_id !== "number" || typeof product !== "string") return null;
  return typeof slots === "number" && isEnd ? { license_id, product, slots, valid_until } : null;
}

/** The id and product that a policy claims, so that a person can see it is the right file. */
export function parsePolicy(
  text: string,
): { readonly id: string; readonly product: string } | null {
  const { policy_id: id, terms } = parseJsonPart(text.split(".")[1] ?? "") ?? {};
  const { product } = (terms ?? {}) as { readonly product?: unknown };
  return typeof id === "string" && typeof product === "string" ? { id, product } : null;
}

function parseJsonPart(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(decodeBase64(part) ?? "");
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Decodes base64 of either alphabet as UTF-8; null when it is invalid. */
function decodeBase64(part: string): string | null {
  try {
    const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const codes = Uint8Array.from(bytes, (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(codes);
  } catch {
    return null;
  }
}
