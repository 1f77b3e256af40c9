import { CODE_BITS, codeRowSizes, decodeCode, canonicalizeCode, encodeCode } from "./code.ts";
import { CODE_KINDS, prefixCodeKind, splitCodeKind } from "./code-kinds.ts";

/**
 * The license keys that a desk makes for orders: one row of a code, with a kind of its own. They
 * are read out and typed like codes, but compared and signed as texts, so that they need one form.
 */

const RANDOM_BYTES = 11;
const [SYMBOLS] = codeRowSizes(CODE_BITS.orderKey);

export const generateOrderKey = (): string =>
  encodeOrderKey(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));

function encodeOrderKey(random: Uint8Array): string {
  return encodeCode(prefixCodeKind(CODE_KINDS.orderKey, random), CODE_BITS.orderKey);
}

/** The one form of a key that a desk made, from any spelling; every other text is unchanged. */
export const canonicalizeLicenseKey = (text: string): string => readOrderKey(text) ?? text;

/** Whether the text is a key as a desk makes them, in any spelling. It may have another origin. */
export const isOrderKey = (text: string): boolean => readOrderKey(text) !== null;

function readOrderKey(text: string): string | null {
  // License keys are compared in NFC: it turns the Kelvin sign into the letter K.
  const symbols = canonicalizeCode(text.normalize("NFC"));
  if (symbols.length !== SYMBOLS) return null;
  const decoded = decodeCode(symbols, CODE_BITS.orderKey);
  if (!decoded.ok || splitCodeKind(decoded.bytes).kind !== CODE_KINDS.orderKey) return null;
  return encodeCode(decoded.bytes, CODE_BITS.orderKey);
}

/** Whether the text looks like a key of a desk, but has a symbol that does not fit the others. */
export function isMistypedOrderKey(text: string): boolean {
  const symbols = canonicalizeCode(text.normalize("NFC"));
  return symbols.length === SYMBOLS && symbols.startsWith(KIND_SYMBOL) && !isOrderKey(text);
}

/** The kind fills the first symbol. */
const KIND_SYMBOL = encodeOrderKey(new Uint8Array(RANDOM_BYTES)).charAt(0);
