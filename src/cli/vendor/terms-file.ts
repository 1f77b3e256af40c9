import { readFileSync } from "node:fs";
import { describeFieldFault, type FieldFault } from "../../license/documents/field-faults.ts";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import { DAY_OR_TIME, parseTermsFile } from "../../license/terms/terms-file.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { Misuse } from "../frame/options.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { findRepeatedMember } from "./repeated-member.ts";

/** Shown by `berth vendor terms`. */
export const EXAMPLE_TERMS = {
  product: "CAD",
  customer: "Initech",
  slots: 10,
  valid_until: "2027-12-31",
  borrow_hours: 720,
  consumption: { max: 1_000, overages: 50, period: "monthly" },
  features: [
    { code: "MESH", floating: { slots: 2, timeout_minutes: 30 } },
    { code: "EXPORT", consumption: { max: 100 }, expires: "2027-06-30" },
    { code: "PRO", name: "Professional" },
  ],
};

/** Reads the file of `--terms FILE`. */
export function readTermsFile(path: string): TermsChanges {
  const parsed = parseTermsFile(readJson(path));
  if (parsed.ok) return parsed.value;
  const text = describeFieldFault(parsed.fault, findNearest);
  throw new Misuse(`terms: ${text}`, termFaultHint(parsed.fault, '"trial": true', "null"));
}

/** `trial` and `unset`: how the input marks a trial and removes a term. */
export function termFaultHint(fault: FieldFault, trial: string, unset: string): string {
  const isTrial = fault.wrong === "value" && fault.value === "trial";
  if (isTrial) return `${trial} marks a license of any type as a trial`;
  const isTime = fault.wrong === "value" && fault.expected === DAY_OR_TIME;
  if (isTime) return `for example 2027-12-31 (the whole day), or ${unset}`;
  return "berth vendor terms --schema describes every field";
}

const BYTE_ORDER_MARK = "\ufeff";

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const isMissing = errorCode(error) === "ENOENT";
    const what = isMissing ? "does not exist" : "cannot be read";
    throw new Misuse(`${path} ${what}`, "--terms requires a JSON file with license terms");
  }
  // Some editors begin a file with this mark.
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  const terms = parseJson(path, json);
  const repeated = findRepeatedMember(json);
  if (repeated !== null)
    throw new Misuse(`${path} contains ${repeated} twice`, "remove one of them");
  return terms;
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const reason = messageOfError(error);
    throw new Misuse(`${path} is not JSON: ${reason}`, "berth vendor terms shows an example");
  }
}
