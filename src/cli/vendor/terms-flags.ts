import type { FieldFault } from "../../license/field-faults.ts";
import { describeFieldFault } from "../../license/field-faults.ts";
import { combineTermsChanges, type TermsChanges } from "../../license/terms-changes.ts";
import { parseTermsFile } from "../../license/terms-file.ts";
import { Misuse, type Option } from "../../platform/options.ts";
import { isFlagSet, getListFlag, getStringFlag, type FlagValues } from "../frame/command.ts";
import { parseFeatures, settingNameOf, type FeatureInput } from "./feature-flag.ts";
import { isUnset, numberOrText } from "./term-values.ts";
import { termFaultHint, readTermsFile } from "./terms-file.ts";

/** One term as a flag, and the field of a terms file that it sets. */
interface TermFlag {
  readonly name: string;
  readonly value: string;
  readonly help: string;
  readonly field: string;
  readonly valueType: "text" | "number" | "time";
  /** "never" and "none" remove the term. */
  readonly canBeUnset?: boolean;
}

const TYPES = "perpetual, time-limited, subscription or consumption";
const PERIODS = "daily, weekly, monthly or annually";

const termFlag = (
  name: string,
  value: string,
  help: string,
  valueType: TermFlag["valueType"],
  canBeUnset = false,
  field = name.replaceAll("-", "_"),
): TermFlag => ({ name, value, help, valueType, canBeUnset, field });

const TERM_FLAGS: readonly TermFlag[] = [
  termFlag("product", "CODE", "the product code", "text"),
  termFlag("product-name", "NAME", "the product's name; default: its code", "text"),
  termFlag(
    "license-type",
    "TYPE",
    `${TYPES}; default perpetual, or time-limited with --valid-until`,
    "text",
  ),
  termFlag("customer", "NAME", "the customer's name, or none", "text", true),
  termFlag("metadata", "TEXT", "a text for the application, or none", "text", true),
  termFlag("slots", "N", "maximum number of concurrent users; default 1", "number"),
  termFlag(
    "timeout-minutes",
    "N",
    "minutes until a slot without a heartbeat is released; default 15",
    "number",
  ),
  termFlag("start", "DAY", "the first valid day, from 00:00 UTC, or none", "time", true),
  termFlag(
    "valid-until",
    "DAY",
    "the last valid day (in UTC), an RFC 3339 time, or never",
    "time",
    true,
  ),
  termFlag(
    "maintenance-until",
    "DAY",
    "the last day of maintenance, an RFC 3339 time, or never",
    "time",
    true,
  ),
  termFlag(
    "grace-hours",
    "N",
    "hours the license stays usable after its end, or none",
    "number",
    true,
  ),
  termFlag(
    "borrow-hours",
    "N",
    "maximum hours a slot can be borrowed; default none",
    "number",
    true,
  ),
  termFlag(
    "move-grace-hours",
    "N",
    "hours the license stays valid on other hardware after a move; default 72",
    "number",
  ),
  termFlag(
    "consumptions",
    "N",
    "maximum consumption, unlimited, or none (consumption is not counted)",
    "number",
    false,
    "consumption.max",
  ),
  termFlag(
    "overages",
    "N",
    "consumption allowed above the maximum; default 0",
    "number",
    false,
    "consumption.overages",
  ),
  termFlag(
    "period",
    "PERIOD",
    `how often the count resets: ${PERIODS}, or none`,
    "text",
    true,
    "consumption.period",
  ),
];

/** A term that is yes or no, as two flags. */
const SWITCHES = [
  ["trial", "trial", "a trial license", "no-trial", "not a trial license (default)"],
  [
    "enabled",
    "enabled",
    "the license grants slots (default)",
    "disabled",
    "the license grants nothing",
  ],
  [
    "early_return",
    "early-return",
    "a borrowed slot can be returned early (default)",
    "no-early-return",
    "a borrowed slot stays in use until the borrow ends",
  ],
  [
    "consumption.negative",
    "negative",
    "negative consumption is allowed",
    "no-negative",
    "negative consumption is not allowed (default)",
  ],
] as const;

/** License terms as flags. Terms without a flag stay as in the earlier license, or get defaults. */
export const termsFlags: readonly Option[] = [
  ...TERM_FLAGS.map(({ name, value, help }): Option => ({
    name,
    type: "string",
    placeholder: value,
    help,
  })),
  ...SWITCHES.flatMap(([, yes, yesHelp, no, noHelp]): Option[] => [
    { name: yes, type: "boolean", help: yesHelp },
    { name: no, type: "boolean", help: noHelp },
  ]),
  {
    name: "feature",
    type: "list",
    placeholder: "CODE[:SETTING=VALUE]…",
    help: "a feature, or changes to it; settings: name, slots, timeout (in minutes), consumptions, overages, negative (yes or no), period, ends (a day) and metadata, which must be last; can be repeated",
    canContainCommas: true,
  },
  {
    name: "no-feature",
    type: "list",
    placeholder: "CODE",
    help: "remove this feature; can be repeated",
  },
  {
    name: "terms",
    type: "string",
    placeholder: "FILE",
    help: "JSON file with terms (berth vendor terms prints an example); flags override the file",
    isPath: true,
  },
];

/** Combines the terms of the flags and of the file; a flag overrides the file. */
export function readTermsChanges(flags: FlagValues): TermsChanges {
  const path = getStringFlag(flags, "terms");
  const fileTerms = path === null ? {} : readTermsFile(path);
  return combineTermsChanges(fileTerms, readTermFlags(flags));
}

/** Converts the flags to an equivalent terms file, so that one set of rules applies to both. */
function readTermFlags(flags: FlagValues): TermsChanges {
  const features = parseFeatures(getListFlag(flags, "feature"));
  const without = getListFlag(flags, "no-feature");
  const conflict = features.find(({ code }) => without.includes(code));
  if (conflict !== undefined) {
    const { code } = conflict;
    throw new Misuse(`--feature and --no-feature both name ${code}`, "omit one of them");
  }
  const codes = features.map(({ code }) => code);
  const repeated = codes.find((code, index) => codes.indexOf(code) !== index);
  if (repeated !== undefined) {
    throw new Misuse(`feature ${repeated} is given twice`, "specify each feature once");
  }
  const parsed = parseTermsFile({ ...termFieldsFromFlags(flags), features });
  if (parsed.ok) return { ...parsed.value, without };
  const fault = { ...parsed.fault, path: flagFor(parsed.fault, features) };
  throw new Misuse(describeFieldFault(fault), termFaultHint(fault, "--trial", "never"));
}

function termFieldsFromFlags(flags: FlagValues): object {
  const fields: Record<string, unknown> = {};
  const consumption: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    const [group, member] = field.split(".");
    if (member === undefined) fields[field] = value;
    else if (group === "consumption") consumption[member] = value;
  };
  for (const flag of TERM_FLAGS) {
    const text = getStringFlag(flags, flag.name);
    if (text !== null) set(flag.field, parseTermValue(flag, text));
  }
  for (const [field, yes, , no] of SWITCHES) {
    const value = readSwitch(flags, yes, no);
    if (value !== null) set(field, value);
  }
  if (getStringFlag(flags, "consumptions") === "none") {
    if (Object.keys(consumption).length > 1) {
      throw new Misuse(
        "--consumptions none cannot be combined with --overages, --period or --negative",
        "omit them",
      );
    }
    return { ...fields, consumption: null };
  }
  return Object.keys(consumption).length > 0 ? { ...fields, consumption } : fields;
}

/** A flag overrides the environment, as everywhere; both switches from one source are refused. */
function readSwitch(flags: FlagValues, yes: string, no: string): boolean | null {
  const [isYes, isNo] = [isFlagSet(flags, yes), isFlagSet(flags, no)];
  if (!isYes && !isNo) return null;
  if (isYes !== isNo) return isYes;
  const isFlag = (name: string): boolean => flags.values.get(name)?.from === `--${name}`;
  if (isFlag(yes) !== isFlag(no)) return isFlag(yes);
  throw new Misuse(`--${yes} and --${no} cannot be combined`, "omit one of them");
}

function parseTermValue({ name, valueType, canBeUnset }: TermFlag, text: string): unknown {
  if (canBeUnset === true && isUnset(text)) return null;
  if (name === "consumptions" && text === "unlimited") return null;
  if (name === "borrow-hours" && text === "0") return null;
  return valueType === "number" ? numberOrText(text) : text;
}

/** The flag that set a field. */
function flagFor({ path }: FieldFault, features: readonly FeatureInput[]): string {
  const [, index, field = "code"] = /^features\[(\d+)\](?:\.(.*))?$/.exec(path) ?? [];
  if (index === undefined) {
    return `--${TERM_FLAGS.find((flag) => flag.field === path)?.name ?? path}`;
  }
  const code = features[Number(index)]?.code;
  return field === "code" ? `--feature ${code}` : `--feature ${code}: ${settingNameOf(field)}`;
}
