import { readFileSync } from "node:fs";
import { describeFieldFault, type FieldFault } from "../../license/documents/field-faults.ts";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import { DAY_OR_TIME, parseTermsFile } from "../../license/terms/terms-file.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { Misuse } from "../frame/options.ts";
import { findNearest } from "../../domain/text/nearest.ts";

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

const TOKEN = /"(?:[^"\\]|\\[^])*(?:"|\\?$)|[{}[\],:]/g;

interface OpenContainer {
  /** Names of an object's members so far; null: a list. */
  readonly names: Set<string> | null;
  /** Last part of the path of the current member or element: `.slots`, or `[2]`. */
  pathPart: string;
  index: number;
}

/**
 * The path of the first member that an object in this JSON text has twice; null: there is none.
 * `JSON.parse` silently uses the last one. The text must be valid JSON.
 */
function findRepeatedMember(text: string): string | null {
  const tokens = text.match(TOKEN) ?? [];
  const open: OpenContainer[] = [];
  for (const [index, token] of tokens.entries()) {
    const inner = open.at(-1);
    if (token === "{") open.push({ names: new Set(), pathPart: "", index: 0 });
    else if (token === "[") open.push({ names: null, pathPart: "[0]", index: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && inner?.names === null) {
      inner.index += 1;
      inner.pathPart = `[${inner.index}]`;
    } else if (inner?.names != null && tokens[index + 1] === ":" && token.startsWith('"')) {
      const name = JSON.parse(token) as string;
      inner.pathPart = `.${name}`;
      if (inner.names.has(name))
        return open
          .map(({ pathPart }) => pathPart)
          .join("")
          .slice(1);
      inner.names.add(name);
    }
  }
  return null;
}
