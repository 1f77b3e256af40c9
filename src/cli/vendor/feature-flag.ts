import { Misuse } from "../frame/options.ts";
import { findNearest } from "../../domain/text/nearest.ts";

/** Settings of `--feature CODE:setting=value…`, and the fields of a terms file that they set. */
const FIELDS: Readonly<Record<string, string>> = {
  name: "name",
  slots: "floating.slots",
  timeout: "floating.timeout_minutes",
  consumptions: "consumption.max",
  overages: "consumption.overages",
  negative: "consumption.negative",
  period: "consumption.period",
  ends: "expires",
  metadata: "metadata",
};

const FEATURE_SYNTAX =
  "CODE[:name=TEXT][:slots=N][:timeout=MINUTES][:consumptions=N][:overages=N][:negative=yes]" +
  "[:period=PERIOD][:ends=DAY][:metadata=TEXT]";

/** A feature in the form of a terms file. */
export interface FeatureInput {
  readonly code: string;
  readonly [field: string]: unknown;
}

/** Features may be separated by commas, unless one has a text, which may contain a comma. */
export const parseFeatures = (texts: readonly string[]): FeatureInput[] =>
  texts
    .flatMap((text) => (/:(?:name|metadata)=/.test(text) ? [text] : text.split(",")))
    .map((text) => parseFeature(text.trim()));

function parseFeature(text: string): FeatureInput {
  // Metadata is the rest of the text, whatever is in it.
  const [, head = "", metadata] = /^(.*?)(?::metadata=([\s\S]*))?$/s.exec(text) ?? [];
  const [code = "", ...settings] = head.split(/:(?=[\w-]+=)/);
  if (code === "" || code.includes(":") || code.includes("=")) {
    throw new Misuse(`--feature ${text} is not valid`, `--feature ${FEATURE_SYNTAX}`);
  }
  const values = new Map<string, string>();
  for (const setting of settings) {
    const [name = ""] = setting.split("=");
    if (!Object.hasOwn(FIELDS, name)) {
      const nearest = findNearest(name, Object.keys(FIELDS));
      const guess = nearest === null ? "" : `: did you mean ${nearest}?`;
      throw new Misuse(
        `--feature ${code} has no setting ${name}${guess}`,
        `--feature ${FEATURE_SYNTAX}`,
      );
    }
    if (values.has(name)) throw new Misuse(`--feature ${code} sets ${name} twice`, "set it once");
    values.set(name, setting.slice(name.length + 1));
  }
  if (metadata !== undefined) values.set("metadata", metadata);
  return toFeatureInput(code, values);
}

function toFeatureInput(code: string, values: ReadonlyMap<string, string>): FeatureInput {
  const text = (name: string, value = values.get(name)): object =>
    value === undefined ? {} : { [name]: isUnset(value) ? null : value };
  const [name, ends] = [values.get("name"), values.get("ends")];
  return {
    code,
    ...(name !== undefined && { name }),
    ...text("metadata"),
    ...(ends !== undefined && { expires: isUnset(ends) ? null : ends }),
    ...settingsGroup(code, values, "floating", "slots", ["timeout"]),
    ...settingsGroup(code, values, "consumption", "consumptions", [
      "overages",
      "negative",
      "period",
    ]),
  };
}

/** One object of the terms file; the value `none` of its first setting removes the object. */
function settingsGroup(
  code: string,
  values: ReadonlyMap<string, string>,
  group: string,
  first: string,
  others: readonly string[],
): object {
  const present = [first, ...others].filter((name) => values.has(name));
  if (present.length === 0) return {};
  if (isUnset(values.get(first) ?? "")) {
    if (present.length === 1) return { [group]: null };
    throw new Misuse(
      `--feature ${code}: ${first}=none cannot be combined with ${present[1]}`,
      "omit one of them",
    );
  }
  const members = present.map((name) => [
    (FIELDS[name] ?? name).split(".")[1],
    parseSetting(code, name, values.get(name) ?? ""),
  ]);
  return { [group]: Object.fromEntries(members) as object };
}

function parseSetting(code: string, name: string, text: string): unknown {
  if (name === "period") return isUnset(text) ? null : text;
  if (name === "consumptions" && text === "unlimited") return null;
  if (name === "negative") {
    if (text === "yes" || text === "no") return text === "yes";
    throw new Misuse(
      `--feature ${code}: negative must be yes or no, not ${text}`,
      `--feature ${FEATURE_SYNTAX}`,
    );
  }
  return numberOrText(text);
}

/** The setting that sets a field of the terms file. */
export const settingNameOf = (field: string): string =>
  Object.keys(FIELDS).find((name) => FIELDS[name] === field) ?? field;

/** Whether the value of a flag removes a term. */
export const isUnset = (text: string): boolean => text === "never" || text === "none";

/** Text that is not a number stays text, so that the error can show it. */
export const numberOrText = (text: string): number | string =>
  /^\d{1,15}$/.test(text) ? Number(text) : text;
