import { DAY } from "../../domain/time.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";

type Feature = TermsDocument["features"][number];
type Consumption = NonNullable<TermsDocument["consumption"]>;
type Floating = NonNullable<Feature["floating"]>;

/**
 * All terms of a document, one line `name: value` for each and one for each feature, aligned. The
 * names are those of the fields. The texts of the vendor are unchanged: escape the lines before
 * they are printed.
 */
export function describeTerms(terms: TermsDocument): string[] {
  const { features, ...plain } = terms;
  const rows = describeMembers(ROWS, plain);
  const featureRows: [string, string][] =
    features.length === 0
      ? [["features", "none"]]
      : features.map((feature) => [`feature ${feature.code}`, describeFeature(feature)]);
  // A long feature code does not move the other values.
  const width = Math.max(...rows.map(([name]) => name.length)) + 1;
  return [...rows, ...featureRows].map(([name, value]) => `${`${name}:`.padEnd(width)}  ${value}`);
}

/** A member that is added to the terms without a row here does not compile. */
type Rows<T> = { readonly [K in keyof T]-?: (value: T[K]) => string };

function describeMembers<T extends object>(rows: Rows<T>, value: T): [string, string][] {
  const names = Object.keys(rows) as (keyof T & string)[];
  return names.map((name) => [name.replaceAll("_", " "), rows[name](value[name])]);
}

/** Several terms on one line: `slots 2, timeout minutes 30` */
const joinMembers = (members: readonly (readonly [string, string])[]): string =>
  members.map(([name, value]) => `${name} ${value}`).join(", ");

type PlainValue = string | number | boolean | null | undefined;

const plainOr =
  (none: string) =>
  (value: PlainValue): string => {
    if (value == null) return none;
    return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
  };

const plain = plainOr("none");

/** Within a line, where an unquoted text could look like the next term. */
const quoted = (text: string | null): string => (text === null ? "none" : JSON.stringify(text));

const formatTime = (time: string): string => time.replace(/\.000Z$/, "Z");

/** An end at midnight is easily misread, so the last day, which is the one before, comes first. */
const endOr =
  (none: string) =>
  (time: string | null): string => {
    if (time === null) return none;
    const at = Date.parse(time);
    if (at % DAY !== 0) return formatTime(time);
    return `${new Date(at - DAY).toISOString().slice(0, 10)} (ends ${formatTime(time)})`;
  };

const CONSUMPTION_ROWS: Rows<Consumption> = {
  max: plainOr("unlimited"),
  overages: plain,
  negative: plain,
  period: plain,
};

const describeConsumption = (consumption: Consumption | null): string =>
  consumption === null
    ? "not counted"
    : joinMembers(describeMembers(CONSUMPTION_ROWS, consumption));

const FLOATING_ROWS: Rows<Floating> = { slots: plain, timeout_minutes: plain };

const describeFloating = (floating: Floating | null): string =>
  floating === null ? "no slots" : joinMembers(describeMembers(FLOATING_ROWS, floating));

type FeatureTerm = Exclude<keyof Feature, "code">;

/** Complete parts of the feature's line; its code is the name of the line. */
const FEATURE_ROWS: Rows<Pick<Feature, FeatureTerm>> = {
  name: (name) => `name ${quoted(name)}`,
  floating: describeFloating,
  consumption: (consumption) => `consumption ${describeConsumption(consumption)}`,
  expires: (expires) => `expires ${endOr("with the license")(expires)}`,
  metadata: (metadata) => `metadata ${quoted(metadata)}`,
};

const describeFeature = (feature: Feature): string =>
  describeMembers(FEATURE_ROWS, feature)
    .map(([, part]) => part)
    .join(", ");

const ROWS: Rows<Omit<TermsDocument, "features">> = {
  product: plain,
  product_name: plain,
  license_key: plain,
  customer: plain,
  license_type: plain,
  trial: plain,
  enabled: plain,
  start: (time) => (time === null ? "immediately" : formatTime(time)),
  valid_until: endOr("never"),
  grace_hours: plain,
  maintenance_until: endOr("never"),
  slots: plain,
  timeout_minutes: plain,
  borrow_hours: plainOr("no borrowing"),
  early_return: plain,
  move_grace_hours: plain,
  restore_grace_hours: plain,
  report_every_days: plainOr("never"),
  consumption: describeConsumption,
  metadata: plain,
};
