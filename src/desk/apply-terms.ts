import { describeTermsDifference } from "../domain/terms-difference.ts";
import { findFieldFault, describeFieldFault } from "../license/field-faults.ts";
import type { FeatureChanges, TermsChanges } from "../license/terms-changes.ts";
import { decodeTerms, TermsDocument } from "../license/terms.ts";
import type { Desk } from "./desk.ts";
import { DeskRefused } from "./desk-refused.ts";

type Consumption = NonNullable<TermsDocument["consumption"]>;
type Feature = TermsDocument["features"][number];
type Floating = NonNullable<Feature["floating"]>;

const DEFAULTS: Omit<TermsDocument, "product" | "product_name"> = {
  license_key: null,
  license_type: "perpetual",
  customer: null,
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  valid_until: null,
  maintenance_until: null,
  grace_hours: null,
  slots: 1,
  timeout_minutes: 15,
  borrow_hours: null,
  early_return: true,
  move_grace_hours: 72,
  consumption: null,
  features: [],
};

const DEFAULT_TIMEOUT = 15;

/** As JSON: no site takes a document of more than 48 KiB, Base64url and all the rest included. */
const MOST_BYTES = 34 * 1_024;

/**
 * Whole terms for a product this vendor may license: those before, or the defaults, with the
 * changes applied to them member by member.
 */
export function applyTermsChanges(
  desk: Desk,
  before: TermsDocument | null,
  changes: TermsChanges,
): TermsDocument {
  const product = changes.product ?? before?.product;
  if (product === undefined) throw new DeskRefused("no product is specified", "use --product CODE");
  if (!desk.vendor.products.includes(product)) {
    throw new DeskRefused(
      `${product} is not a product of this vendor`,
      `its products: ${desk.vendor.products.join(", ")}`,
    );
  }
  const base = { ...DEFAULTS, product_name: product, ...before, product };
  const { consumption, features, without, ...plain } = changes;
  const terms = {
    ...base,
    ...plain,
    product,
    consumption: consumptionWith("", base.consumption, consumption),
    features: featuresWith(base.features, features ?? [], without ?? []),
  };
  const { start, valid_until } = terms;
  if (start !== null && valid_until !== null && Date.parse(start) >= Date.parse(valid_until)) {
    throw new DeskRefused(
      `the license would end on ${valid_until}, before it starts on ${start}`,
      "check --start and --valid-until",
    );
  }
  const license_type = typeWith(terms, changes);
  const counts = [terms, ...terms.features].some((one) => one.consumption !== null);
  // Only what is said now: a license of an earlier version that is like this can be renewed.
  if (changes.license_type === "consumption" && !counts) {
    throw new DeskRefused(
      "a consumption license must have a maximum consumption",
      "set it with --consumptions N, or --consumptions unlimited",
    );
  }
  return checked({ ...terms, license_type });
}

/** The end decides between perpetual and time-limited, unless the type was named. */
function typeWith(
  { license_type, valid_until }: TermsDocument,
  changes: TermsChanges,
): TermsDocument["license_type"] {
  const isNamed = changes.license_type !== undefined;
  if (!isNamed && changes.valid_until !== undefined) {
    if (license_type === "perpetual" && valid_until !== null) return "time-limited";
    if (license_type === "time-limited" && valid_until === null) return "perpetual";
  }
  const needsEnd = license_type === "time-limited" || license_type === "subscription";
  if (needsEnd && valid_until === null) {
    throw new DeskRefused(
      `a ${license_type} license requires an end date`,
      "--valid-until 2027-12-31",
    );
  }
  if (isNamed && license_type === "perpetual" && valid_until !== null) {
    throw new DeskRefused(
      `a perpetual license has no end date, but this one would end on ${valid_until}`,
      "omit --license-type for a time-limited license, or use --valid-until never",
    );
  }
  return license_type;
}

/** What a site would not take is named here, before it is signed. */
function checked(terms: TermsDocument): TermsDocument {
  const fault = findFieldFault(TermsDocument, terms);
  if (fault !== null) {
    throw new DeskRefused(`terms: ${describeFieldFault(fault)}`, "berth vendor issue --help");
  }
  const bytes = Buffer.byteLength(JSON.stringify(terms));
  if (bytes > MOST_BYTES) {
    throw new DeskRefused(
      `the terms have ${bytes} bytes, but a license holds at most ${MOST_BYTES}`,
      "shorten the metadata, or put fewer features into one license",
    );
  }
  if (decodeTerms(terms) === null) {
    throw new DeskRefused("the terms are not valid", "check the dates and feature codes");
  }
  return terms;
}

function featuresWith(
  before: readonly Feature[],
  given: readonly FeatureChanges[],
  without: readonly string[],
): Feature[] {
  const features = new Map(before.map((feature) => [feature.code, feature]));
  const codes = new Set<string>();
  for (const changes of given) {
    const { code } = changes;
    if (codes.has(code)) {
      throw new DeskRefused(`feature ${code} is given twice`, "specify each feature once");
    }
    codes.add(code);
    features.set(code, featureWith(features.get(code), changes));
  }
  for (const code of without) {
    if (features.has(code)) continue;
    const known = [...features.keys()].join(", ");
    const hint = known === "" ? "it has no features" : `its features are: ${known}`;
    throw new DeskRefused(`the license has no feature ${code} to remove`, hint);
  }
  return [...features.values()].filter(({ code }) => !without.includes(code));
}

function featureWith(before: Feature | undefined, changes: FeatureChanges): Feature {
  const { code, floating, consumption, ...plain } = changes;
  const base = before ?? { name: code, metadata: null, expires: null };
  return {
    code,
    ...base,
    ...plain,
    floating: floatingWith(code, before?.floating ?? null, floating),
    consumption: consumptionWith(code, before?.consumption ?? null, consumption),
  };
}

function floatingWith(
  code: string,
  before: Floating | null,
  changes: Partial<Floating> | null | undefined,
): Floating | null {
  if (changes === undefined) return before;
  if (changes === null) return null;
  const { slots = before?.slots, timeout_minutes } = changes;
  if (slots === undefined) {
    throw new DeskRefused(
      `feature ${code} has no slots, so it cannot have a timeout`,
      `set the slots too: --feature ${code}:slots=N:timeout=MINUTES`,
    );
  }
  const kept = before?.timeout_minutes ?? DEFAULT_TIMEOUT;
  return { slots, timeout_minutes: timeout_minutes ?? kept };
}

/** `code` is the feature's, or empty for the license itself. */
function consumptionWith(
  code: string,
  before: Consumption | null,
  changes: Partial<Consumption> | null | undefined,
): Consumption | null {
  if (changes === undefined) return before;
  if (changes === null) return null;
  const { max = before?.max } = changes;
  if (max === undefined) {
    const [what, how] =
      code === ""
        ? ["the license", "--consumptions N"]
        : [code, `--feature ${code}:consumptions=N`];
    throw new DeskRefused(
      `${what} does not count consumption, so it cannot have overages, a period or negative consumption`,
      `set a maximum: ${how}, or unlimited`,
    );
  }
  const kept = before ?? { overages: 0, negative: false, period: null };
  return { ...kept, ...changes, max };
}

export const isSameTerms = (a: TermsDocument, b: TermsDocument): boolean =>
  Bun.deepEquals(decodeTerms(complete(a)), decodeTerms(complete(b)));

/** A line of an older version may lack a term. */
const complete = (terms: TermsDocument): TermsDocument => ({ ...DEFAULTS, ...terms });

/** What the second document changes of the first, one text for each term. */
export function describeDocumentDifference(before: TermsDocument, after: TermsDocument): string[] {
  const [from, to] = [decodeTerms(complete(before)), decodeTerms(complete(after))];
  if (from === null || to === null) throw new Error("the terms in the ledger cannot be read");
  return describeTermsDifference(from, to);
}
