// The model's site: what was installed, taken and counted, and how to find it again.
import type { Aim } from "../../src/domain/command.ts";
import type { Contact } from "../../src/domain/registration.ts";
import { HOUR, instant, type Instant } from "../../src/domain/time.ts";
import type { Terms } from "../../src/domain/terms.ts";
import {
  isHeld,
  totalOf,
  type CounterRecord,
  type Dated,
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

export const granted = (facts: Facts): Answer => ({ granted: facts });

/** Thrown inside the model alone, so that every rule reads from top to bottom. */
export class Refusal extends Error {
  readonly reasons: readonly Reason[];

  constructor(...reasons: readonly Reason[]) {
    super(reasons.map(({ code }) => code).join(" or "));
    this.reasons = reasons;
  }
}

export const refusal = (code: string, facts: Facts = {}): Refusal =>
  new Refusal({ code, ...facts });

/** The fields a call needs, as they came: null is missing. */
type Needed = Readonly<Record<string, string | null>>;

export class Site {
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
  position = 0;

  installed(): LicenseRecord[] {
    return this.licenses.filter(({ isRemoved }) => !isRemoved);
  }

  dated(value: Instant, at: Instant): Dated {
    return { value, setAt: at, position: this.position };
  }

  holders(license: LicenseRecord, feature: string | null, at: Instant): SlotRecord[] {
    return this.slots.filter(
      (slot) => slot.license === license && slot.feature === feature && isHeld(slot, at),
    );
  }

  slotOf(
    license: LicenseRecord,
    feature: string | null,
    user: string | null,
    at: Instant,
  ): SlotRecord | undefined {
    return this.holders(license, feature, at).find((slot) => slot.user === user);
  }

  take(
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
      since: this.dated(at, at),
      aliveUntil: this.dated(at, at),
      isReleased: false,
      through: null,
      isWrittenOff: false,
    };
    this.slots.push(slot);
    return slot;
  }

  counter(license: LicenseRecord, feature: string | null): CounterRecord {
    const isIt = (one: CounterRecord) => one.license === license && one.feature === feature;
    const known = this.counters.find(isIt);
    if (known !== undefined) return known;
    const counter = { license, feature, entries: [] };
    this.counters.push(counter);
    return counter;
  }

  total(license: LicenseRecord, feature: string | null, at: Instant): number {
    return totalOf(this.counter(license, feature).entries, at);
  }

  /** All that is missing is named at once; a product need not be named where there is only one. */
  product(named: string | null, needed: Needed): string {
    const products = [...new Set(this.installed().map(({ terms }) => terms.product))];
    const missing = Object.keys(needed).filter((name) => needed[name] === null);
    if (named === null && products.length > 1) missing.push("product");
    if (missing.length > 0) throw refusal("missing_parameters", { fields: missing });
    const product = named ?? products[0];
    if (product === undefined) throw refusal("license_not_found");
    if (products.includes(product)) return product;
    // Where there is no license at all, both are true of a product that is named.
    const none = products.length > 0 ? [] : [{ code: "license_not_found" }];
    throw new Refusal({ code: "unknown_product" }, ...none);
  }

  /** Of one product, the most recently added first. */
  ofProduct(product: string): LicenseRecord[] {
    return this.installed()
      .filter(({ terms }) => terms.product === product)
      .toReversed();
  }

  /** The licenses that may serve this call: the one that is named, or all of the product. */
  meant(aim: Aim, needed: Needed): LicenseRecord[] {
    const all = this.ofProduct(this.product(aim.product, needed));
    if (aim.licenseId === null) return all;
    const named = all.filter(({ id }) => id === aim.licenseId);
    if (named.length === 0) throw refusal("license_not_found");
    return named;
  }

  /** Those of them that are valid. */
  valid(aim: Aim, needed: Needed, at: Instant): LicenseRecord[] {
    return fitting(this.meant(aim, needed), ({ terms }) => invalidity(terms, at));
  }

  /** Those of these licenses that the user holds a slot of. */
  heldOf(licenses: LicenseRecord[], user: string | null, at: Instant): LicenseRecord[] {
    return licenses.filter((license) => this.slotOf(license, null, user, at) !== undefined);
  }
}

/** Those without a reason to refuse; if every one has a reason, each of the reasons will do. */
export function fitting(
  licenses: readonly LicenseRecord[],
  reasonOf: (license: LicenseRecord) => Reason | null,
): LicenseRecord[] {
  const reasons = licenses.map(reasonOf);
  if (reasons.includes(null)) return licenses.filter((_license, place) => reasons[place] === null);
  throw new Refusal(...reasons.filter((reason) => reason !== null));
}

export const plus = (at: Instant, milliseconds: number): Instant => instant(at + milliseconds);

export const latest = (one: Instant, other: Instant | null): Instant =>
  other !== null && other > one ? other : one;

/** From when on nothing is granted: the end of its validity and of the grace after it. */
export function endOfLicense({ validUntil, graceHours }: Terms): Instant | null {
  return validUntil === null ? null : plus(validUntil, (graceHours ?? 0) * HOUR);
}

function invalidity(terms: Terms, at: Instant): Reason | null {
  const end = endOfLicense(terms);
  if (!terms.enabled) return { code: "license_not_enabled" };
  if (terms.start !== null && at < terms.start) {
    return { code: "license_not_active", start: terms.start };
  }
  return end !== null && at >= end ? { code: "license_expired", what: "license", end } : null;
}
