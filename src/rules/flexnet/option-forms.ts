import { UNSUPPORTED_KEYWORDS } from "./unsupported-keywords.ts";

/** Why a line has no equivalent. */
export class NoEquivalent extends Error {}

/** How the words of an option follow each other. */
export const FORMS: Readonly<Record<string, string>> = {
  INCLUDE: "INCLUDE feature type name",
  EXCLUDE: "EXCLUDE feature type name",
  INCLUDE_BORROW: "INCLUDE_BORROW feature type name",
  EXCLUDE_BORROW: "EXCLUDE_BORROW feature type name",
  INCLUDEALL: "INCLUDEALL type name",
  EXCLUDEALL: "EXCLUDEALL type name",
  RESERVE: "RESERVE number feature type name",
  MAX: "MAX number feature type name",
  MAX_BORROW_HOURS: "MAX_BORROW_HOURS feature hours",
  BORROW_LOWWATER: "BORROW_LOWWATER feature number",
};

export function parseCount(text: string, form: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new NoEquivalent(`expected ${form}`);
  return Number(text);
}

const TYPES = new Set(["USER", "HOST", "DISPLAY", "INTERNET", "PROJECT"]);

/** Why a line that begins with this word is not converted. */
export function explainKeyword(word: string): string {
  const keyword = word.toUpperCase();
  const reason = UNSUPPORTED_KEYWORDS.get(keyword);
  if (reason !== undefined) return reason;
  if (TYPES.has(keyword)) return `${keyword} is a type and cannot begin a line`;
  return `${word} is not an option of FlexNet that Berth knows`;
}
