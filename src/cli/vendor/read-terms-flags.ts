import { describeFieldFault, type FieldFault } from "../../license/documents/field-faults.ts";
import { combineTermsChanges, type TermsChanges } from "../../license/terms/terms-changes.ts";
import { parseTermsFile } from "../../license/terms/terms-file.ts";
import { defaultValues, type Values } from "../frame/define-command.ts";
import { Misuse } from "../frame/options.ts";
import {
  parseFeatures,
  settingNameOf,
  type FeatureInput,
  isUnset,
  numberOrText,
} from "./feature-flag.ts";
import { termFaultHint, readTermsFile } from "./terms-file.ts";
import { SWITCHES, TERMS, termsOptions, type TermOption } from "./terms-flags.ts";

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
] as const satisfies readonly (readonly [keyof typeof SWITCHES, keyof typeof termsOptions])[];

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

function parseTermValue({ name, isNumber, canBeUnset }: TermOption, text: string): unknown {
  if (canBeUnset && isUnset(text)) return null;
  if (name === "consumptions" && text === "unlimited") return null;
  if (name === "borrow-hours" && text === "0") return null;
  return isNumber ? numberOrText(text) : text;
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

/** The column of a term in a table of orders, and its option. The customer has one of its own. */
const TERM_OPTIONS = new Map(
  TERM_KEYS.filter((key) => key !== "customer").map((key) => [
    TERMS[key].name.replaceAll("-", "_"),
    key,
  ]),
);

const SWITCH_OPTIONS = new Map(
  SWITCH_KEYS.map((pair) => [SWITCHES[pair[0]].yes.name.replaceAll("-", "_"), pair]),
);

export const TERM_COLUMNS: readonly string[] = [...TERM_OPTIONS.keys(), ...SWITCH_OPTIONS.keys()];

/** The terms in the cells of a row, by their columns, as if they were given as flags. */
export function readTermTexts(cells: ReadonlyMap<string, string>): TermsChanges {
  const values: Record<string, unknown> = { ...defaultValues(termsOptions) };
  for (const [column, text] of cells) {
    const key = TERM_OPTIONS.get(column);
    if (key !== undefined) values[key] = text;
    const pair = SWITCH_OPTIONS.get(column);
    if (pair === undefined) continue;
    const isYes = /^(?:yes|true|1)$/i.test(text);
    if (!isYes && !/^(?:no|false|0)$/i.test(text))
      throw new Misuse(`${column} must be yes or no: ${text}`, "");
    values[isYes ? pair[0] : pair[1]] = true;
  }
  const sources = Object.fromEntries(Object.keys(values).map((key) => [key, null]));
  try {
    return readTermFlags(values as TermsValues, sources as TermsSources);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    const message = error.message.replace(/^--([a-z-]+)/, (_, name: string) =>
      name.replaceAll("-", "_"),
    );
    throw new Misuse(message, error.hint);
  }
}
