import { isReadableKey } from "../../domain/text/invisible-characters.ts";
import { canonicalizeLicenseKey } from "../../license/codes/order-key.ts";
import { DeskRefused } from "../desk-refused.ts";

/** The form that is signed; refuses invisible characters, which a person cannot compare. */
export function normalizeLicenseKey(key: string): string {
  if (isReadableKey(canonicalizeLicenseKey(key))) return comparableLicenseKey(key);
  throw new DeskRefused(
    `the license key ${key} contains invisible characters or spaces`,
    "specify the exact key with --license-key KEY",
  );
}

/** Equal for keys that look equal, and for all spellings of a key that a desk made. */
export const comparableLicenseKey = (key: string): string =>
  canonicalizeLicenseKey(key).normalize("NFC");

export const isSameLicenseKey = (a: string | null, b: string | null): boolean =>
  a === null || b === null ? a === b : comparableLicenseKey(a) === comparableLicenseKey(b);
