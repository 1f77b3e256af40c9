// Replaces what differs in every run, on every machine or in every version. All else is compared.
import { hostname } from "node:os";
import { rfc3339 } from "../../src/platform/rfc3339.ts";
import { CAD, WANTED_UNTIL } from "./replies.ts";
import manifest from "../../package.json";

const DAY_MS = 86_400_000;

const TIME = /\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?/g;

/** Near them, a time of a test's own clock is not one of the system clock. */
const ENDS_OF_LICENSES: ReadonlySet<string> = new Set([
  rfc3339(CAD.validUntil),
  rfc3339(CAD.maintenanceUntil),
  WANTED_UNTIL,
]);

/** A time of the system clock. The times of a test's own clock are the same in every run. */
const isOfSystemClock = (time: string): boolean =>
  Math.abs(Date.parse(time) - Date.now()) < 2 * DAY_MS && !ENDS_OF_LICENSES.has(time);

type Replacement = readonly [pattern: RegExp, by: string | ((text: string) => string)];

/** In this order: an earlier pattern contains what a later one would replace. */
const IN_TEXTS: readonly Replacement[] = [
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<document>"],
  [/\bberth_[\w-]{43}/g, "<token>"],
  [/\/[\w/.-]*\/berth-(?:test|desk)-\w+/g, "<folder>"],
  [/(?<![\w-])(?=[\w-]*[A-Z])[\w-]{43}(?![\w-])/g, "<key>"],
  [TIME, (time) => (isOfSystemClock(time) ? "<time>" : time)],
  [/\b\d{8}T\d{6}Z/g, "<time>"],
  // In the name of an export, with the beginning of the appliance's id.
  [/(?<=-)[0-9A-Z]{8}(?=-<time>)/g, "<id>"],
  // A spoken code or a fingerprint, which may have several lines.
  [/\b[0-9A-Z]{5}(?:[-\n][0-9A-Z]{2,5}){2,}\b/g, "<code>"],
  // The fingerprint of a certificate.
  [/\b[0-9A-F]{2}(?::[0-9A-F]{2}){31}\b/g, "<fingerprint>"],
  // The id of a vendor or an appliance, or an initialization code.
  [/\b[0-9A-HJKMNP-TV-Z]{16}(?:[0-9A-HJKMNP-TV-Z]{4})?\b/g, "<id>"],
  [/(?<![0-9A-Za-z.])[0-9a-f]{8,}(?![0-9A-Za-z])/g, "<id>"],
];

/** Members whose numbers depend on the machine, or on the length of random numbers. */
const IS_MEASURED = /(?:^|_)(?:pid|bytes|size|ms)$/;
/** Larger ones are times, random ids or the space on a disk. */
const LARGEST_NUMBER = 1e9;
/** Longer texts are licenses and pictures, whose beginning is enough. */
const LONGEST_TEXT = 1_000;

/** Replaces it in a value of JSON. */
export function replaceInValue(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    if (/^(?:|changed_|issued_)by$/.test(name) && value.includes("@")) return "<account>";
    if (name === "version") return value.replace(/^\d+\.\d+\.\d+\S*$/, "<version>");
    if (value === hostname() && HOST_MEMBERS.has(name)) return "<host>";
    return shorten(replaceInText(value));
  }
  if (typeof value === "number") {
    return IS_MEASURED.test(name) || value > LARGEST_NUMBER ? "<number>" : value;
  }
  if (Array.isArray(value)) return value.map((item) => replaceInValue(item, name));
  if (typeof value !== "object" || value === null) return value;
  // Those of the machine are among them.
  if (name === "networks") return Object.fromEntries(Object.keys(value).map(hideNetworks));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, replaceInValue(member, key)]),
  );
}

const hideNetworks = (name: string) => [name, "<networks>"] as const;

/** The name of a site is that of its machine, unless it is set. */
const HOST_MEMBERS: ReadonlySet<string> = new Set(["value", "default", "from", "to", "site_name"]);

export function replaceInText(text: string): string {
  return IN_TEXTS.reduce((rest, [pattern, by]) => rest.replaceAll(pattern, by as string), text)
    .replaceAll(`from ${hostname()} to`, "from <host> to")
    .replaceAll(process.cwd(), "<folder>")
    .replaceAll(manifest.version, "<version>");
}

/** Where all times are of the system clock, those that are far from now are replaced as well. */
export const replaceTimes = (json: unknown): unknown =>
  JSON.parse(JSON.stringify(json).replaceAll(TIME, "<time>"));

const shorten = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, 100)}…` : text;
