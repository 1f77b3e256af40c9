import type { FieldFault } from "../../license/field-faults.ts";
import { describeFieldFault } from "../../license/field-faults.ts";
import { combineTermsChanges, type TermsChanges } from "../../license/terms-changes.ts";
import { parseTermsFile } from "../../license/terms-file.ts";
import { Misuse, type Option } from "../frame/options.ts";
import type { OptionTable, Values } from "../frame/define-command.ts";
import {
  parseFeatures,
  settingNameOf,
  type FeatureInput,
  isUnset,
  numberOrText,
} from "./feature-flag.ts";
import { termFaultHint, readTermsFile } from "./terms-file.ts";

/** One term as an option, and the field of a terms file that it sets. */
interface TermOption extends Option {
  readonly type: "string";
  readonly field: string;
  readonly valueType: "text" | "number" | "time";
  /** "never" and "none" remove the term. */
  readonly canBeUnset: boolean;
}

const TYPES = "perpetual, time-limited, subscription or consumption";
const PERIODS = "daily, weekly, monthly or annually";

const term = (
  name: string,
  placeholder: string,
  help: string,
  valueType: TermOption["valueType"],
  canBeUnset = false,
  field = name.replaceAll("-", "_"),
): TermOption => ({ name, type: "string", placeholder, help, valueType, canBeUnset, field });

const TERMS = {
  product: term("product", "CODE", "the product code", "text"),
  productName: term("product-name", "NAME", "the product's name; default: its code", "text"),
  licenseType: term(
    "license-type",
    "TYPE",
    `${TYPES}; default perpetual, or time-limited with --valid-until`,
    "text",
  ),
  customer: term("customer", "NAME", "the customer's name, or none", "text", true),
  metadata: term("metadata", "TEXT", "a text for the application, or none", "text", true),
  slots: term("slots", "N", "maximum number of concurrent users; default 1", "number"),
  timeoutMinutes: term(
    "timeout-minutes",
    "N",
    "minutes until a slot without a heartbeat is released; default 15",
    "number",
  ),
  start: term("start", "DAY", "the first valid day, from 00:00 UTC, or none", "time", true),
  validUntil: term(
    "valid-until",
    "DAY",
    "the last valid day (in UTC), an RFC 3339 time, or never",
    "time",
    true,
  ),
  maintenanceUntil: term(
    "maintenance-until",
    "DAY",
    "the last day of maintenance, an RFC 3339 time, or never",
    "time",
    true,
  ),
  graceHours: term(
    "grace-hours",
    "N",
    "hours the license stays usable after its end, or none",
    "number",
    true,
  ),
  borrowHours: term(
    "borrow-hours",
    "N",
    "maximum hours a slot can be borrowed; default none",
    "number",
    true,
  ),
  moveGraceHours: term(
    "move-grace-hours",
    "N",
    "hours the license stays valid on other hardware after a move; default 72",
    "number",
  ),
  consumptions: term(
    "consumptions",
    "N",
    "maximum consumption, unlimited, or none (consumption is not counted)",
    "number",
    false,
    "consumption.max",
  ),
  overages: term(
    "overages",
    "N",
    "consumption allowed above the maximum; default 0",
    "number",
    false,
    "consumption.overages",
  ),
  period: term(
    "period",
    "PERIOD",
    `how often the count resets: ${PERIODS}, or none`,
    "text",
    true,
    "consumption.period",
  ),
} as const;

/** A term that is yes or no, as two options. */
const onOff = (field: string, yes: string, yesHelp: string, no: string, noHelp: string) =>
  ({
    field,
    yes: { name: yes, type: "boolean", help: yesHelp },
    no: { name: no, type: "boolean", help: noHelp },
  }) as const;

const SWITCHES = {
  trial: onOff("trial", "trial", "a trial license", "no-trial", "not a trial license (default)"),
  enabled: onOff(
    "enabled",
    "enabled",
    "the license grants slots (default)",
    "disabled",
    "the license grants nothing",
  ),
  earlyReturn: onOff(
    "early_return",
    "early-return",
    "a borrowed slot can be returned early (default)",
    "no-early-return",
    "a borrowed slot stays in use until the borrow ends",
  ),
  negative: onOff(
    "consumption.negative",
    "negative",
    "negative consumption is allowed",
    "no-negative",
    "negative consumption is not allowed (default)",
  ),
};

type SwitchKey = keyof typeof SWITCHES;

/** License terms as options. Terms without one stay as in the earlier license, or get defaults. */
export const termsOptions = {
  ...TERMS,
  trial: SWITCHES.trial.yes,
  noTrial: SWITCHES.trial.no,
  enabled: SWITCHES.enabled.yes,
  disabled: SWITCHES.enabled.no,
  earlyReturn: SWITCHES.earlyReturn.yes,
  noEarlyReturn: SWITCHES.earlyReturn.no,
  negative: SWITCHES.negative.yes,
  noNegative: SWITCHES.negative.no,
  features: {
    name: "feature",
    type: "list",
    placeholder: "CODE[:SETTING=VALUE]…",
    help: "a feature, or changes to it; settings: name, slots, timeout (in minutes), consumptions, overages, negative (yes or no), period, ends (a day) and metadata, which must be last; can be repeated",
    canContainCommas: true,
  },
  withoutFeatures: {
    name: "no-feature",
    type: "list",
    placeholder: "CODE",
    help: "remove this feature; can be repeated",
  },
  terms: {
    name: "terms",
    type: "string",
    placeholder: "FILE",
    help: "JSON file with terms (berth vendor terms prints an example); flags override the file",
    isPath: true,
  },
} as const satisfies OptionTable;

type TermsValues = Values<typeof termsOptions>;

/** The flag or the variable that set each of the switches. */
type TermsSources = { readonly [K in keyof typeof termsOptions]: string | null };

/** Combines the terms of the flags and of the file; a flag overrides the file. */
export function readTermsChanges(values: TermsValues, sources: TermsSources): TermsChanges {
  const fileTerms = values.terms === null ? {} : readTermsFile(values.terms);
  return combineTermsChanges(fileTerms, readTermFlags(values, sources));
}

/** Converts the flags to an equivalent terms file, so that one set of rules applies to both. */
function readTermFlags(values: TermsValues, sources: TermsSources): TermsChanges {
  const features = parseFeatures(values.features);
  const without = values.withoutFeatures;
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
  const parsed = parseTermsFile({ ...termFieldsFromFlags(values, sources), features });
  if (parsed.ok) return { ...parsed.value, without };
  const fault = { ...parsed.fault, path: flagFor(parsed.fault, features) };
  throw new Misuse(describeFieldFault(fault), termFaultHint(fault, "--trial", "never"));
}

function termFieldsFromFlags(values: TermsValues, sources: TermsSources): object {
  const fields: Record<string, unknown> = {};
  const consumption: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    const [group, member] = field.split(".");
    if (member === undefined) fields[field] = value;
    else if (group === "consumption") consumption[member] = value;
  };
  for (const key of TERM_KEYS) {
    const text = values[key];
    if (text !== null) set(TERMS[key].field, parseTermValue(TERMS[key], text));
  }
  for (const [key, opposite] of SWITCH_KEYS) {
    const value = readSwitch(values, sources, key, opposite);
    if (value !== null) set(SWITCHES[key].field, value);
  }
  if (values.consumptions === "none") {
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

const TERM_KEYS = Object.keys(TERMS) as (keyof typeof TERMS)[];

/** Each switch, and the option that means the opposite. */
const SWITCH_KEYS = [
  ["trial", "noTrial"],
  ["enabled", "disabled"],
  ["earlyReturn", "noEarlyReturn"],
  ["negative", "noNegative"],
] as const satisfies readonly (readonly [SwitchKey, keyof typeof termsOptions])[];

type SwitchPair = (typeof SWITCH_KEYS)[number];

/** A flag overrides the environment, as everywhere; both switches from one source are refused. */
function readSwitch(
  values: TermsValues,
  sources: TermsSources,
  key: SwitchPair[0],
  opposite: SwitchPair[1],
): boolean | null {
  const [isYes, isNo] = [values[key], values[opposite]];
  if (!isYes && !isNo) return null;
  if (isYes !== isNo) return isYes;
  const { yes, no } = SWITCHES[key];
  const isYesFlag = sources[key] === `--${yes.name}`;
  const isNoFlag = sources[opposite] === `--${no.name}`;
  if (isYesFlag !== isNoFlag) return isYesFlag;
  throw new Misuse(`--${yes.name} and --${no.name} cannot be combined`, "omit one of them");
}

function parseTermValue({ name, valueType, canBeUnset }: TermOption, text: string): unknown {
  if (canBeUnset && isUnset(text)) return null;
  if (name === "consumptions" && text === "unlimited") return null;
  if (name === "borrow-hours" && text === "0") return null;
  return valueType === "number" ? numberOrText(text) : text;
}

/** The flag that set a field. */
function flagFor({ path }: FieldFault, features: readonly FeatureInput[]): string {
  const [, index, field = "code"] = /^features\[(\d+)\](?:\.(.*))?$/.exec(path) ?? [];
  if (index === undefined) {
    return `--${Object.values(TERMS).find(({ field }) => field === path)?.name ?? path}`;
  }
  const code = features[Number(index)]?.code;
  return field === "code" ? `--feature ${code}` : `--feature ${code}: ${settingNameOf(field)}`;
}
