// The model's site: what was installed, taken and counted, and how to find it again.
import type { LicenseSelector } from "../../src/domain/command.ts";
import type { Contact } from "../../src/domain/registration.ts";
import { HOUR, instant, type Instant } from "../../src/domain/time.ts";
import type { Terms } from "../../src/domain/terms.ts";
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

/** What a command is answered with: the facts of a grant, or the code and the facts of a refusal. */
export type Answer =
  | { readonly granted: Facts }
  /** Where several licenses refuse for several reasons, each of these is a right answer. */
  | { readonly refused: readonly Reason[] };

export const makeGrant = (facts: Facts): Answer => ({ granted: facts });

/** Thrown inside the model alone, so that every rule reads from top to bottom. */
export class Refusal extends Error {
  readonly reasons: readonly Reason[];

  constructor(...reasons: readonly Reason[]) {
    super(reasons.map(({ code }) => code).join(" or "));
    this.reasons = reasons;
  }
}

export const makeRefusal = (code: string, facts: Facts = {}): Refusal =>
  new Refusal({ code, ...facts });

/** The fields a call needs, as they came: null is missing. */
type RequiredFields = Readonly<Record<string, string | null>>;

export class ModelSite {
  readonly licenses: LicenseRecord[] = [];
  slots: SlotRecord[] = [];
  readonly counters: CounterRecord[] = [];
  readonly keys: KeyRecord[] = [];
  /** Sent to the vendor and not answered yet. */
  openRequests: RequestRecord[] = [];
  readonly answeredRequests: string[] = [];
  readonly tombstones: (Facts & { readonly license: number; readonly serial: number })[] = [];
  jumps: JumpRecord[] = [];
  /** How many commands there were. */
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
    const isIt = (one: CounterRecord) => one.license === license && one.feature === feature;
    const known = this.counters.find(isIt);
    if (known !== undefined) return known;
    const counter = { license, feature, entries: [] };
    this.counters.push(counter);
    return counter;
  }

  computeTotal(license: LicenseRecord, feature: string | null, at: Instant): number {
    return computeTotal(this.findCounter(license, feature).entries, at);
  }

  /** All that is missing is named at once; a product need not be named where there is only one. */
  resolveProduct(named: string | null, needed: RequiredFields): string {
    const products = [...new Set(this.findInstalledLicenses().map(({ terms }) => terms.product))];
    const missing = Object.keys(needed).filter((name) => needed[name] === null);
    if (named === null && products.length > 1) missing.push("product");
    if (missing.length > 0) throw makeRefusal("missing_parameters", { fields: missing });
    const product = named ?? products[0];
    if (product === undefined) throw makeRefusal("license_not_found");
    if (products.includes(product)) return product;
    // Where there is no license at all, both are true of a product that is named.
    const none = products.length > 0 ? [] : [{ code: "license_not_found" }];
    throw new Refusal({ code: "unknown_product" }, ...none);
  }

  /** Of one product, the most recently added first. */
  findLicensesOfProduct(product: string): LicenseRecord[] {
    return this.findInstalledLicenses()
      .filter(({ terms }) => terms.product === product)
      .toReversed();
  }

  /** The licenses that may serve this call: the one that is named, or all of the product. */
  findRequestedLicenses(aim: LicenseSelector, needed: RequiredFields): LicenseRecord[] {
    const all = this.findLicensesOfProduct(this.resolveProduct(aim.product, needed));
    if (aim.licenseId === null) return all;
    const named = all.filter(({ id }) => id === aim.licenseId);
    if (named.length === 0) throw makeRefusal("license_not_found");
    return named;
  }

  /** Those of them that are valid. */
  findValidLicenses(aim: LicenseSelector, needed: RequiredFields, at: Instant): LicenseRecord[] {
    return filterAllowed(this.findRequestedLicenses(aim, needed), ({ terms }) =>
      checkLicenseValid(terms, at),
    );
  }

  /** Those of these licenses that the user holds a slot of. */
  filterHeldBy(licenses: LicenseRecord[], user: string | null, at: Instant): LicenseRecord[] {
    return licenses.filter((license) => this.findHeldSlot(license, null, user, at) !== undefined);
  }
}

/** Those without a reason to refuse; if every one has a reason, each of the reasons will do. */
export function filterAllowed(
  licenses: readonly LicenseRecord[],
  reasonOf: (license: LicenseRecord) => Reason | null,
): LicenseRecord[] {
  const reasons = licenses.map(reasonOf);
  if (reasons.includes(null)) return licenses.filter((_license, place) => reasons[place] === null);
  throw new Refusal(...reasons.filter((reason) => reason !== null));
}

export const addMilliseconds = (at: Instant, milliseconds: number): Instant =>
  instant(at + milliseconds);

export const laterOf = (one: Instant, other: Instant | null): Instant =>
  other !== null && other > one ? other : one;

/** From when on nothing is granted: the end of its validity and of the grace after it. */
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
