import { readFileSync } from "node:fs";
import type { TermsDocument } from "../license/terms.ts";
import { Misuse, type Option } from "../platform/options.ts";
import { isSet, listOf, stringOf, type Given } from "./command.ts";

const flag = (name: string, value: string, help: string): Option => ({
  name,
  type: "string",
  value,
  help,
});

/** Terms as flags; those not given are the license's before, or the usual ones. */
export const termsFlags: readonly Option[] = [
  flag("product", "CODE", "the product"),
  flag("license-type", "TYPE", "perpetual (as usual), time-limited, subscription or consumption"),
  flag("slots", "N", "how many users at once; usually 1"),
  flag("timeout-minutes", "N", "how long a slot outlives its last heartbeat; usually 15"),
  flag("valid-until", "TIME", "the end, RFC 3339 or YYYY-MM-DD"),
  flag("start", "TIME", "the beginning, RFC 3339 or YYYY-MM-DD"),
  flag("borrow-hours", "N", "how long a slot may be borrowed; 0, as usual: not at all"),
  flag("consumptions", "N", "how much may be counted; unlimited for no limit"),
  flag("overages", "N", "how far past that"),
  flag("period", "PERIOD", "daily, weekly, monthly or annually"),
  flag("grace-hours", "N", "how long it serves past its end"),
  {
    name: "feature",
    type: "list",
    value: "CODE[:slots=N][:consumptions=N]",
    help: "a feature; may be given several times",
  },
  { name: "no-early-return", type: "boolean", help: "a borrowed slot stays taken until its end" },
  {
    name: "terms",
    type: "string",
    value: "FILE",
    help: "terms as JSON; flags go before them",
    path: true,
  },
];

export function termsGiven(given: Given): Partial<TermsDocument> {
  const number = (name: string): number | null => numberOf(given, name);
  const text = (name: string): string | null => stringOf(given, name);
  const consumption = consumptionGiven(given);
  const features = listOf(given, "feature").map(featureOf);
  const borrow = number("borrow-hours");
  return {
    ...fromFile(text("terms")),
    ...some("product", text("product")),
    ...some("license_type", text("license-type") as TermsDocument["license_type"] | null),
    ...some("slots", number("slots")),
    ...some("timeout_minutes", number("timeout-minutes")),
    ...some("valid_until", timeOf("valid-until", text("valid-until"))),
    ...some("start", timeOf("start", text("start"))),
    ...(borrow !== null && { borrow_hours: borrow === 0 ? null : borrow }),
    ...some("grace_hours", number("grace-hours")),
    ...(consumption !== null && { consumption }),
    ...(features.length > 0 && { features }),
    ...(isSet(given, "no-early-return") && { early_return: false }),
  };
}

function consumptionGiven(given: Given): TermsDocument["consumption"] {
  const text = stringOf(given, "consumptions");
  if (text === null) {
    if (given.values.has("overages") || given.values.has("period")) {
      throw new Misuse("--overages and --period go with --consumptions", "for example 100");
    }
    return null;
  }
  const period = stringOf(given, "period") as NonNullable<TermsDocument["consumption"]>["period"];
  const max = text === "unlimited" ? null : numberOf(given, "consumptions");
  return { max, overages: numberOf(given, "overages") ?? 0, negative: false, period };
}

function featureOf(text: string): TermsDocument["features"][number] {
  const [code = "", ...settings] = text.split(":");
  const values = new Map(settings.map((one) => one.split("=") as [string, string]));
  const strange = [...values].find(
    ([name, value]) => (name !== "slots" && name !== "consumptions") || value === undefined,
  );
  if (code === "" || strange !== undefined) {
    throw new Misuse(
      `--feature ${text} is not understood`,
      "CODE, CODE:slots=5, CODE:consumptions=9",
    );
  }
  const count = (name: string): number | null => {
    const value = values.get(name);
    if (value === undefined) return null;
    if (!/^\d+$/.test(value))
      throw new Misuse(`--feature ${text}: ${name} must be a number`, "CODE:slots=5");
    return Number(value);
  };
  const [slots, consumptions] = [count("slots"), count("consumptions")];
  return {
    code,
    name: code,
    metadata: null,
    expires: null,
    floating: slots === null ? null : { slots, timeout_minutes: 15 },
    consumption:
      consumptions === null
        ? null
        : { max: consumptions, overages: 0, negative: false, period: null },
  };
}

function numberOf(given: Given, name: string): number | null {
  const text = stringOf(given, name);
  if (text === null) return null;
  if (!/^\d{1,13}$/.test(text))
    throw new Misuse(`--${name} must be a whole number`, `for example --${name} 10`);
  return Number(text);
}

/** A day begins at midnight UTC. A day that does not exist must not become another. */
function timeOf(name: string, text: string | null): string | null {
  if (text === null) return null;
  const day = /^\d{4}-\d\d-\d\d/.exec(text)?.[0];
  const time = new Date(text === day ? `${text}T00:00:00.000Z` : text);
  const real =
    day !== undefined &&
    !Number.isNaN(time.getTime()) &&
    new Date(`${day}T00:00:00.000Z`).toISOString().startsWith(day);
  if (!real) throw new Misuse(`--${name} ${text} is not a time`, "for example 2027-12-31");
  return time.toISOString();
}

function fromFile(path: string | null): Partial<TermsDocument> {
  if (path === null) return {};
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Partial<TermsDocument>;
  } catch {
    throw new Misuse(`${path} cannot be read as JSON`, "check --terms");
  }
}

const some = <K extends string, V>(name: K, value: V | null): { [N in K]?: V } =>
  (value === null ? {} : { [name]: value }) as { [N in K]?: V };
