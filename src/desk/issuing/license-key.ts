import { isReadableKey } from "../../domain/text/invisible-characters.ts";
import { DeskRefused } from "../desk-refused.ts";

/** Returns the key in NFC form; refuses invisible characters, which a person cannot compare. */
export function normalizeLicenseKey(key: string): string {
  if (isReadableKey(key)) return key.normalize("NFC");
  throw new DeskRefused(
    `the license key ${key} contains invisible characters or spaces`,
    "specify the exact key with --license-key KEY",
  );
}

/** Compares license keys in NFC form, so that equal-looking keys are equal. */
export const isSameLicenseKey = (a: string | null, b: string | null): boolean =>
  a?.normalize("NFC") === b?.normalize("NFC");
