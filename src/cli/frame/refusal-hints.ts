import { FAULTS, isFaultCode } from "../../faults/catalog.ts";

/** The file is intact and its vendor known: another copy of it would be refused as well. */
const SIGNED_WITH_RETIRED = /signed with a key that its vendor retired$/;

export function refusalHint(code: string, message = ""): string {
  if (SIGNED_WITH_RETIRED.test(message)) return "ask the vendor to sign it again with its new key";
  const hint = isFaultCode(code) ? FAULTS[code].hint : undefined;
  return typeof hint === "string" ? hint : "";
}
