import { describeTermsDifference } from "../../domain/licenses/terms-difference.ts";
import { findFieldFault, describeFieldFault } from "../../license/documents/field-faults.ts";
import type { FeatureChanges, TermsChanges } from "../../license/terms/terms-changes.ts";
import { decodeTerms, TermsDocument } from "../../license/terms/terms.ts";
import type { DeskFacts } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";

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

const DEFAULT_TIMEOUT_MINUTES = 15;

/** Of the JSON text: sites refuse a document of more than 48 KiB in Base64url. */
const MAX_TERMS_BYTES = 34 * 1_024;

/**
 * Builds complete terms for a product of this vendor: the earlier terms, or the defaults, with the
 * changes applied field by field. Without earlier terms, the changes must say when it ends.
 */
export function applyTermsChanges(
  desk: Pick<DeskFacts, "vendor">,
  before: TermsDocument | null,
  changes: TermsChanges,
): TermsDocument {
  const product = changes.product ?? before?.product;
  if (product === undefined) throw new DeskRefused("no product is specified", "use --product CODE");
  refuseForeignProduct(desk, product);
  const base = { ...(before ?? { ...DEFAULTS, product_name: product }), product };
  const { consumption, features, without, ...plain } = changes;
  const {
    restore_grace_hours = null,
    report_every_days = null,
    ...plainTerms
  } = {
    ...base,
    ...plain,
  };
  const terms = {
    ...plainTerms,
    ...(restore_grace_hours !== null && { restore_grace_hours }),
    ...(report_every_days !== null && { report_every_days }),
    product,
    consumption: mergeConsumption("", base.consumption, consumption),
    features: mergeFeatures(base.features, features ?? [], without ?? []),
  };
  const { start, valid_until } = terms;
  if (start !== null && valid_until !== null && Date.parse(start) >= Date.parse(valid_until)) {
    throw new DeskRefused(
      `the license would end on ${valid_until}, before it starts on ${start}`,
      "check --start and --valid-until",
    );
  }
  const license_type = deriveLicenseType(terms, changes);
  if (before === null && !saysEnd(changes)) {
    throw new DeskRefused(
      "the terms do not say when the license ends",
      "use --valid-until DAY, or --valid-until never for a license without an end",
    );
  }
  const hasConsumption = [terms, ...terms.features].some((part) => part.consumption !== null);
  // Checked only if the type is set now: a license without can still be renewed.
  if (changes.license_type === "consumption" && !hasConsumption) {
    throw new DeskRefused(
      "a consumption license must have a maximum consumption",
      "set it with --consumptions N, or --consumptions unlimited",
    );
  }
  return checkTerms({ ...terms, license_type });
}

/** A license without an end is sold only on purpose; the type perpetual says it, too. */
const saysEnd = ({ valid_until, license_type }: TermsChanges): boolean =>
  valid_until !== undefined || license_type === "perpetual";

export function refuseForeignProduct({ vendor }: Pick<DeskFacts, "vendor">, product: string): void {
  if (vendor.products.includes(product)) return;
  throw new DeskRefused(
    `${product} is not a product of this vendor`,
    `its products: ${vendor.products.join(", ")}`,
  );
}

/** The end decides between perpetual and time-limited, unless the changes set the type. */
function deriveLicenseType(
  { license_type, valid_until }: TermsDocument,
  changes: TermsChanges,
): TermsDocument["license_type"] {
  const isExplicit = changes.license_type !== undefined;
  if (!isExplicit && changes.valid_until !== undefined) {
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
  if (isExplicit && license_type === "perpetual" && valid_until !== null) {
    throw new DeskRefused(
      `a perpetual license has no end date, but this one would end on ${valid_until}`,
      "omit --license-type for a time-limited license, or use --valid-until never",
    );
  }
  return license_type;
}

/** Refuses terms that a site would not accept, before they are signed. */
function checkTerms(terms: TermsDocument): TermsDocument {
  const fault = findFieldFault(TermsDocument, terms);
  if (fault !== null) {
    throw new DeskRefused(`terms: ${describeFieldFault(fault)}`, "berth vendor issue --help");
  }
  const bytes = Buffer.byteLength(JSON.stringify(terms));
  if (bytes > MAX_TERMS_BYTES) {
    throw new DeskRefused(
      `the terms have ${bytes} bytes, but a license holds at most ${MAX_TERMS_BYTES}`,
      "shorten the metadata, or put fewer features into one license",
    );
  }
  if (decodeTerms(terms) === null) {
    throw new DeskRefused("the terms are not valid", "check the dates and feature codes");
  }
  return terms;
}

function mergeFeatures(
  before: readonly Feature[],
  featureChanges: readonly FeatureChanges[],
  without: readonly string[],
): Feature[] {
  const features = new Map(before.map((feature) => [feature.code, feature]));
  const codes = new Set<string>();
  for (const changes of featureChanges) {
    const { code } = changes;
    if (codes.has(code)) {
      throw new DeskRefused(`feature ${code} is given twice`, "specify each feature once");
    }
    codes.add(code);
    features.set(code, mergeFeature(features.get(code), changes));
  }
  for (const code of without) {
    if (features.has(code)) continue;
    const list = [...features.keys()].join(", ");
    const hint = list === "" ? "it has no features" : `its features are: ${list}`;
    throw new DeskRefused(`the license has no feature ${code} to remove`, hint);
  }
  return [...features.values()].filter(({ code }) => !without.includes(code));
}

function mergeFeature(before: Feature | undefined, changes: FeatureChanges): Feature {
  const { code, floating, consumption, ...plain } = changes;
  const base = before ?? { name: code, metadata: null, expires: null };
  return {
    code,
    ...base,
    ...plain,
    floating: mergeFloating(code, before?.floating ?? null, floating),
    consumption: mergeConsumption(code, before?.consumption ?? null, consumption),
  };
}

function mergeFloating(
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
  const timeoutBefore = before?.timeout_minutes ?? DEFAULT_TIMEOUT_MINUTES;
  return { slots, timeout_minutes: timeout_minutes ?? timeoutBefore };
}

/** `code` is the feature's code, or empty for the license itself. */
function mergeConsumption(
  code: string,
  before: Consumption | null,
  changes: Partial<Consumption> | null | undefined,
): Consumption | null {
  if (changes === undefined) return before;
  if (changes === null) return null;
  const { max = before?.max } = changes;
  if (max === undefined) {
    const [subject, flag] =
      code === ""
        ? ["the license", "--consumptions N"]
        : [code, `--feature ${code}:consumptions=N`];
    throw new DeskRefused(
      `${subject} does not count consumption, so it cannot have overages, a period or negative consumption`,
      `set a maximum: ${flag}, or unlimited`,
    );
  }
  const base = before ?? { overages: 0, negative: false, period: null };
  return { ...base, ...changes, max };
}

export const isSameTerms = (a: TermsDocument, b: TermsDocument): boolean =>
  Bun.deepEquals(decodeTerms(a), decodeTerms(b));

/** The differences between two documents, one text for each term. */
export function describeDocumentDifference(before: TermsDocument, after: TermsDocument): string[] {
  const [from, to] = [decodeTerms(before), decodeTerms(after)];
  if (from === null || to === null) throw new Error("the terms in the ledger cannot be read");
  return describeTermsDifference(from, to);
}
