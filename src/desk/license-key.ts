import { isReadableKey } from "../domain/invisible-characters.ts";
import { DeskRefused } from "./desk-refused.ts";

/** A key in its one spelling; refused when it holds what a person would not see. */
export function normalizeLicenseKey(key: string): string {
  if (isReadableKey(key)) return key.normalize("NFC");
  throw new DeskRefused(
    `the license key ${key} contains invisible characters or spaces`,
    "specify the exact key with --license-key KEY",
  );
}

/** Two that are written alike, whatever they are made of. */
export const isSameLicenseKey = (a: string | null, b: string | null): boolean =>
  a?.normalize("NFC") === b?.normalize("NFC");
