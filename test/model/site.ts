// The site of the model: what was installed, taken and counted, with the queries on it.
import type { LicenseSelector } from "../../src/domain/licenses/licenses.ts";
import type { Contact } from "../../src/domain/model/slots/contact.ts";
import { HOUR, instant, type Instant } from "../../src/domain/time.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import {
  isHeld,
  computeTotal,
  type CounterRecord,
  type RecordedInstant,
  type JumpRecord,
  type KeyRecord,
  type LicenseRecord,
  type RequestRecord,
  type SlotRecord,
} from "./records.ts";

export type Facts = Readonly<Record<string, unknown>>;
export type Reason = { readonly code: string } & Facts;

/** The answer to a command: the facts of a grant, or the code and the facts of a refusal. */
export type Answer =
  | { readonly granted: Facts }
  /** If several licenses refuse for different reasons, each of these is a right answer. */
  | { readonly refused: readonly Reason[] };

export const makeGrant = (facts: Facts): Answer => ({ granted: facts });

/** Thrown only inside the model, so that every rule reads from top to bottom. */
export class Refusal extends Error {
  readonly reasons: readonly Reason[];

  constructor(...reasons: readonly Reason[]) {
    super(reasons.map(({ code }) => code).join(" or "));
    this.reasons = reasons;
  }
}

export const makeRefusal = (code: string, facts: Facts = {}): Refusal =>
  new Refusal({ code, ...facts });

/** The required fields of a call, as they were sent; null is missing. */
type RequiredFields = Readonly<Record<string, string | null>>;

export class ModelSite {
  readonly licenses: LicenseRecord[] = [];
  slots: SlotRecord[] = [];
  readonly counters: CounterRecord[] = [];
  readonly keys: KeyRecord[] = [];
  /** Sent to the vendor and not answered yet. */
  openRequests: RequestRecord[] = [];
  readonly cancelledRequests: string[] = [];
  readonly answeredRequests: string[] = [];
  readonly tombstones: (Facts & { readonly license: number; readonly serial: number })[] = [];
  jumps: JumpRecord[] = [];
  /** The number of commands so far. */
  commandCount = 0;

  findInstalledLicenses(): LicenseRecord[] {
    return this.licenses.filter(({ isRemoved }) => !isRemoved);
  }

  recordInstant(value: Instant, at: Instant): RecordedInstant {
    return { value, setAt: at, commandCount: this.commandCount };
  }

  findHeldSlots(license: LicenseRecord, feature: string | null, at: Instant): SlotRecord[] {
    return this.slots.filter(
      (slot) => slot.license === license && slot.feature === feature && isHeld(slot, at),
    );
  }

  findHeldSlot(
    license: LicenseRecord,
    feature: string | null,
    user: string | null,
    at: Instant,
  ): SlotRecord | undefined {
    return this.findHeldSlots(license, feature, at).find((slot) => slot.user === user);
  }

  takeSlot(
    license: LicenseRecord,
    feature: string | null,
    user: string,
    at: Instant,
    contact: Contact | null,
  ): SlotRecord {
    const slot = {
      license,
      feature,
      user,
      contact,
      borrows: [],
      takenAt: this.recordInstant(at, at),
      timeoutAt: this.recordInstant(at, at),
      isReleased: false,
      licenseSlot: null,
      isExpiryWritten: false,
    };
    this.slots.push(slot);
    return slot;
  }

  findCounter(license: LicenseRecord, feature: string | null): CounterRecord {
    const existing = this.counters.find(
      (record) => record.license === license && record.feature === feature,
    );
    if (existing !== undefined) return existing;
    const counter = { license, feature, entries: [] };
    this.counters.push(counter);
    return counter;
  }

  computeTotal(license: LicenseRecord, feature: string | null, at: Instant): number {
    return computeTotal(this.findCounter(license, feature).entries, at);
  }

  /** Names all missing fields at once. A product may be left out if only one is installed. */
  resolveProduct(namedProduct: string | null, requiredFields: RequiredFields): string {
    const products = [...new Set(this.findInstalledLicenses().map(({ terms }) => terms.product))];
    const missing = Object.keys(requiredFields).filter((name) => requiredFields[name] === null);
    if (namedProduct === null && products.length > 1) missing.push("product");
    if (missing.length > 0) throw makeRefusal("missing_parameters", { fields: missing });
    const product = namedProduct ?? products[0];
    if (product === undefined) throw makeRefusal("license_not_found");
    if (products.includes(product)) return product;
    // If no license is installed, both reasons are true for a named product.
    const alsoTrue = products.length > 0 ? [] : [{ code: "license_not_found" }];
    throw new Refusal({ code: "unknown_product" }, ...alsoTrue);
  }

  /** Of one product, the most recently added first. */
  findLicensesOfProduct(product: string): LicenseRecord[] {
    return this.findInstalledLicenses()
      .filter(({ terms }) => terms.product === product)
      .toReversed();
  }

  /** The licenses that may serve this call: the one that is named, or all of the product. */
  findRequestedLicenses(
    selector: LicenseSelector,
    requiredFields: RequiredFields,
  ): LicenseRecord[] {
    const all = this.findLicensesOfProduct(this.resolveProduct(selector.product, requiredFields));
    if (selector.licenseId === null) return all;
    const namedLicenses = all.filter(({ id }) => id === selector.licenseId);
    if (namedLicenses.length === 0) throw makeRefusal("license_not_found");
    return namedLicenses;
  }

  /** The requested licenses that are valid. */
  findValidLicenses(
    selector: LicenseSelector,
    requiredFields: RequiredFields,
    at: Instant,
  ): LicenseRecord[] {
    return filterAllowed(this.findRequestedLicenses(selector, requiredFields), ({ terms }) =>
      checkLicenseValid(terms, at),
    );
  }

  /** The licenses of these that the user holds a slot of. */
  filterHeldBy(licenses: LicenseRecord[], user: string | null, at: Instant): LicenseRecord[] {
    return licenses.filter((license) => this.findHeldSlot(license, null, user, at) !== undefined);
  }
}

/**
 * The licenses without a reason to refuse. If every one has a reason, each reason is a right
 * answer.
 */
export function filterAllowed(
  licenses: readonly LicenseRecord[],
  findReason: (license: LicenseRecord) => Reason | null,
): LicenseRecord[] {
  const reasons = licenses.map(findReason);
  if (reasons.includes(null)) return licenses.filter((_license, index) => reasons[index] === null);
  throw new Refusal(...reasons.filter((reason) => reason !== null));
}

export const addMilliseconds = (at: Instant, milliseconds: number): Instant =>
  instant(at + milliseconds);

export const laterOf = (at: Instant, other: Instant | null): Instant =>
  other !== null && other > at ? other : at;

/** The instant from which nothing is granted: the end of the grace after its validity. */
export function computeLicenseEnd({ validUntil, graceHours }: Terms): Instant | null {
  return validUntil === null ? null : addMilliseconds(validUntil, (graceHours ?? 0) * HOUR);
}

function checkLicenseValid(terms: Terms, at: Instant): Reason | null {
  const end = computeLicenseEnd(terms);
  if (!terms.enabled) return { code: "license_not_enabled" };
  if (terms.start !== null && at < terms.start) {
    return { code: "license_not_active", start: terms.start };
  }
  return end !== null && at >= end ? { code: "license_expired", what: "license", end } : null;
}
