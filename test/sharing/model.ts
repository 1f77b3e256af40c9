// The decisions of the model: calls of applications, the queue, rules and licenses.
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import { HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import {
  ModelUse,
  type ModelHolder,
  type ModelLicense,
  type ModelPlace,
  type ModelRecall,
} from "./model-use.ts";
import { NaiveRules } from "./naive-rules.ts";
import type { RuleFile } from "./rule-file.ts";

/** A decision: what was granted, or every reason that would be right to refuse it with. */
export type ModelAnswer =
  | { readonly granted: true; readonly license: number; readonly end: Instant | null }
  | {
      readonly granted: false;
      readonly reasons: readonly string[];
      readonly recall: string | null;
    };

export interface Claim {
  readonly product: string;
  readonly licenseId: number | null;
  readonly facts: CallerFacts;
}

const TIMEOUT = 30 * MINUTE;
const FEATURE_TIMEOUT = 20 * MINUTE;
const RECALL_TERM = 10 * MINUTE;
const ANY_LICENSE = -1;

const refused = (...reasons: readonly string[]): ModelAnswer => ({
  granted: false,
  reasons,
  recall: null,
});

export class SharingModel extends ModelUse {
  #placeCount = 0;
  #frontOrder = 0;

  /** The licenses of a call that grant something now; a text: why there are none. */
  #select({ product, licenseId }: Claim, at: Instant): readonly ModelLicense[] | string {
    if (this.licenses.length === 0) return "license_not_found";
    const ofProduct = this.licenses.filter((license) => license.product === product);
    if (ofProduct.length === 0) return "unknown_product";
    const selected = ofProduct.filter(({ id }) => licenseId === null || id === licenseId);
    if (selected.length === 0) return "license_not_found";
    const valid = selected.filter((license) => this.isValid(license, at));
    return valid.length === 0 ? "license_expired" : valid;
  }

  /** A member was refused while others use the idle slots of its reservation. */
  #findRecall(
    product: string,
    feature: string | null,
    facts: CallerFacts,
    at: Instant,
  ): string | null {
    const rules = this.rulesFor(product, feature);
    const home = rules.findHome(facts);
    if (home === null || this.countIdle(product, feature, home, at) === 0) return null;
    // The caller may have another slot of the product: it wants one of a certain license.
    if (this.hasRoom(product, feature, facts, at)) return null;
    const isLent = rules
      .reservations()
      .some(({ group, idle }) => group === home && idle === "lend");
    return isLent && !this.isRecalled(product, feature, home, at) ? home : null;
  }

  recall(product: string, feature: string | null, group: string, at: Instant): void {
    if (this.isRecalled(product, feature, group, at)) return;
    const until = later(at, RECALL_TERM);
    this.recalls = this.recalls.filter((recall) => !isFor(recall, product, feature, group));
    this.recalls.push({ product, feature, group, until });
  }

  /** A recall ends when a member gets a slot, or when one is held for a member. */
  #endRecall(product: string, feature: string | null, facts: CallerFacts): void {
    const home = this.rulesFor(product, feature).findHome(facts);
    this.recalls = this.recalls.filter((recall) => !isFor(recall, product, feature, home));
  }

  // Slots of a product.

  /** Registers, or with `hours` borrows; null: as long as allowed. */
  claim(claim: Claim, at: Instant, borrow: { readonly until: Instant | null } | null): ModelAnswer {
    const valid = this.#select(claim, at);
    if (typeof valid === "string") return refused(valid);
    const { product, facts } = claim;
    const { user } = facts;
    const held = valid.find(({ id }) => this.findHolder(id, null, user, at) !== undefined);
    const canBorrow = ({ borrowHours }: ModelLicense): boolean => (borrowHours ?? 0) > 0;
    if (borrow !== null && held !== undefined && !canBorrow(held)) {
      return refused("license_borrow_not_allowed");
    }
    const usable = borrow === null ? valid : valid.filter(canBorrow);
    if (held === undefined && usable.length === 0) return refused("license_borrow_not_allowed");
    const license = held ?? this.#findLicense(claim, usable, at);
    if ("granted" in license) {
      if (license.granted || borrow === null) return license;
      // Both the slot and its borrow are judged: either may be the reason.
      const faults = usable.flatMap((other) => this.#listBorrowFaults(other, facts, null, at));
      return { ...license, reasons: [...license.reasons, ...faults] };
    }
    if (held === undefined && this.isCapped(product, facts, at)) {
      const faults = borrow === null ? [] : this.#listBorrowFaults(license, facts, null, at);
      return refused("slots_capped setting", ...faults);
    }
    const holder = held === undefined ? undefined : this.findHolder(held.id, null, user, at);
    let until =
      holder !== undefined && (holder.borrowedUntil ?? 0) > at ? holder.borrowedUntil : null;
    if (borrow !== null) {
      const end = this.#judgeBorrow(license, facts, until, borrow.until, at);
      if (typeof end !== "number") return end;
      until = end;
    }
    const timeout = later(at, TIMEOUT);
    const end = instant(Math.max(timeout, until ?? 0));
    if (holder === undefined) {
      const slot = { license: license.id, feature: null, user, facts, peer: facts.address };
      this.holders.push({ ...slot, end, timeoutAt: end, borrowedUntil: until });
      this.places = this.places.filter((place) => place.product !== product || place.user !== user);
      this.#endRecall(product, null, facts);
    } else {
      holder.end = end;
      holder.peer = facts.address;
      if (until !== null) holder.borrowedUntil = until;
    }
    for (const slot of this.holders) {
      if (
        slot.license === license.id &&
        slot.feature !== null &&
        slot.user === user &&
        slot.end > at
      ) {
        slot.end = instant(Math.min(slot.timeoutAt, end));
      }
    }
    return { granted: true, license: license.id, end };
  }

  /** The license of a new slot: that of the user's hold, or one with a free slot. */
  #findLicense(
    { product, facts }: Claim,
    usable: readonly ModelLicense[],
    at: Instant,
  ): ModelLicense | ModelAnswer {
    const rules = this.rulesFor(product, null);
    const refusal = rules.findRefusal(facts);
    if (refusal !== null) return refused(`not_allowed_by_rules ${refusal}`);
    const limits = this.listReachedLimits(product, null, facts, at);
    if (limits.length > 0) return refused(...limits.map((limit) => `slots_capped ${limit}`));
    // A hold is kept for the user, but not for a caller of another reserved group.
    const place = this.findPlace(product, facts.user);
    const isSameHome = place !== undefined && rules.findHome(place.facts) === rules.findHome(facts);
    const collected = isSameHome ? usable.find(({ id }) => id === place.hold) : undefined;
    if (collected !== undefined) return collected;
    const free = usable.find((license) => this.countFree(license, null, at) > 0);
    if (free !== undefined && this.hasRoom(product, null, facts, at)) return free;
    const recall = this.#findRecall(product, null, facts, at);
    return { granted: false, reasons: ["floating_not_available"], recall };
  }

  /** The end of the borrow, or why it is refused. */
  #judgeBorrow(
    license: ModelLicense,
    facts: CallerFacts,
    current: Instant | null,
    wanted: Instant | null,
    at: Instant,
  ): Instant | ModelAnswer {
    const rules = this.rulesFor(license.product, null);
    const byLicense = Math.min(
      later(at, (license.borrowHours ?? 0) * HOUR),
      license.endsAt ?? Infinity,
    );
    const byRules = at + rules.maxBorrowHours() * HOUR;
    // Rules never shorten, and judge only a later end than the current one.
    const latest = Math.max(Math.min(byLicense, byRules), Math.min(current ?? 0, byLicense));
    if (wanted !== null && (wanted <= at || wanted > latest + MINUTE)) {
      return refused(
        "borrow_until_not_valid",
        ...this.#listBorrowFaults(license, facts, current, at),
      );
    }
    const end = wanted === null ? Math.max(latest, current ?? 0) : Math.min(wanted, latest);
    if (current !== null && end <= current) return instant(end);
    const faults = this.#listBorrowFaults(license, facts, current, at);
    return faults.length === 0 ? instant(end) : refused(...faults);
  }

  #listBorrowFaults(
    license: ModelLicense,
    facts: CallerFacts,
    current: Instant | null,
    at: Instant,
  ): readonly string[] {
    const rules = this.rulesFor(license.product, null);
    const refusal = rules.findBorrowRefusal(facts);
    if (refusal !== null) return [`not_allowed_by_rules ${refusal}`];
    const ofProduct = this.licenses.filter(({ product }) => product === license.product);
    const borrowed = ofProduct
      .flatMap(({ id }) => this.liveHolders(id, null, at))
      .filter(({ borrowedUntil }) => (borrowedUntil ?? 0) > at)
      // A borrow that moves its end counts once.
      .filter((holder) => current === null || !isSlotOf(holder, license, facts.user)).length;
    const total = ofProduct
      .filter((other) => this.isValid(other, at))
      .reduce((sum, { slots }) => sum + slots, 0);
    return [
      ...(borrowed >= rules.maxBorrowedSlots() ? ["slots_capped borrow_max_slots"] : []),
      ...(borrowed >= total - rules.keepHome() && rules.keepHome() > 0
        ? ["slots_capped borrow_keep_home"]
        : []),
    ];
  }

  /** Gives back all slots of the product, and the place. */
  unregister(product: string, user: string, at: Instant): ModelAnswer {
    if (this.licenses.length === 0) return refused("license_not_found");
    const ofProduct = this.licenses.filter((license) => license.product === product);
    if (ofProduct.length === 0) return refused("unknown_product");
    const isMine = (holder: ModelHolder): boolean =>
      holder.user === user && holder.end > at && ofProduct.some(({ id }) => id === holder.license);
    const hadSlots = this.holders.some((holder) => isMine(holder) && holder.feature === null);
    const hadPlace = this.findPlace(product, user) !== undefined;
    if (!hadSlots && !hadPlace) return refused("user_not_registered");
    if (hadSlots) this.holders = this.holders.filter((holder) => !isMine(holder));
    this.removePlace(product, user);
    return { granted: true, license: 0, end: null };
  }

  // Slots of a floating feature.

  claimFeature(claim: Claim, feature: string, at: Instant): ModelAnswer {
    const valid = this.#select(claim, at);
    if (typeof valid === "string") return refused(valid);
    const { product } = claim;
    const { user } = claim.facts;
    const own = valid.filter(({ id }) => this.findHolder(id, null, user, at) !== undefined);
    if (own.length === 0) return refused("user_not_registered");
    const floating = own.filter(({ features }) => features[feature] !== undefined);
    if (floating.length === 0) return refused("invalid_license_feature_code");
    const held = floating.find(({ id }) => this.findHolder(id, feature, user, at) !== undefined);
    const timeoutAt = later(at, FEATURE_TIMEOUT);
    const endOn = (license: ModelLicense): Instant =>
      instant(Math.min(timeoutAt, this.findHolder(license.id, null, user, at)?.end ?? timeoutAt));
    if (held !== undefined) {
      const holder = this.findHolder(held.id, feature, user, at);
      if (holder !== undefined) Object.assign(holder, { end: endOn(held), timeoutAt });
      return { granted: true, license: held.id, end: null };
    }
    const facts = claim.facts;
    const refusal = this.rulesFor(product, feature).findRefusal(facts);
    if (refusal !== null) return refused(`not_allowed_by_rules ${refusal}`);
    const limits = this.listReachedLimits(product, feature, facts, at);
    if (limits.length > 0) return refused(...limits.map((limit) => `slots_capped ${limit}`));
    const free = floating.find((license) => this.countFree(license, feature, at) > 0);
    if (free === undefined || !this.hasRoom(product, feature, facts, at)) {
      const recall = this.#findRecall(product, feature, facts, at);
      return { granted: false, reasons: ["floating_not_available"], recall };
    }
    const peer = facts.address;
    const fields = { license: free.id, feature, user, facts, peer, borrowedUntil: null };
    this.holders.push({ ...fields, end: endOn(free), timeoutAt });
    this.#endRecall(product, feature, facts);
    return { granted: true, license: free.id, end: null };
  }

  releaseFeature(claim: Claim, feature: string, at: Instant): ModelAnswer {
    const { product } = claim;
    const { user } = claim.facts;
    if (this.licenses.length === 0) return refused("license_not_found");
    const ofProduct = this.licenses.filter((license) => license.product === product);
    if (ofProduct.length === 0) return refused("unknown_product");
    const holder = ofProduct
      .map(({ id }) => this.findHolder(id, feature, user, at))
      .find((slot) => slot !== undefined);
    if (holder === undefined) return refused("user_not_registered", "invalid_license_feature_code");
    this.holders = this.holders.filter((slot) => slot !== holder);
    return { granted: true, license: holder.license, end: null };
  }

  // The queue.

  findPlace(product: string, user: string): ModelPlace | undefined {
    return this.places.find((place) => place.product === product && place.user === user);
  }

  removePlace(product: string, user: string): void {
    this.places = this.places.filter((place) => place.product !== product || place.user !== user);
  }

  /** Whether the user has a place now. */
  takePlace({ product, licenseId, facts }: Claim): boolean {
    const existing = this.findPlace(product, facts.user);
    if (existing !== undefined) {
      // The user could not collect the slot, so the hold is not due.
      Object.assign(existing, { licenseId, facts, hold: null });
      return true;
    }
    const waiting = this.places.filter((place) => place.product === product).length;
    if (waiting >= this.rulesFor(product, null).maxWaiting()) return false;
    this.#placeCount += 1;
    const number = this.#placeCount;
    const fields = { product, user: facts.user, number, order: number, licenseId, facts };
    this.places.push({ ...fields, hold: null, heldAt: instant(0) });
    return true;
  }

  moveToFront(product: string, user: string): boolean {
    const place = this.findPlace(product, user);
    if (place === undefined) return false;
    this.#frontOrder -= 1;
    place.order = this.#frontOrder;
    return true;
  }

  dropPlace(product: string, user: string): boolean {
    const hasPlace = this.findPlace(product, user) !== undefined;
    this.removePlace(product, user);
    return hasPlace;
  }

  /** Serves the queue until nothing changes. */
  dispatch(product: string, lapsed: readonly string[], at: Instant): void {
    for (const user of lapsed) this.removePlace(product, user);
    const ofProduct = this.licenses.filter((license) => license.product === product);
    for (const place of this.places.filter((other) => other.product === product)) {
      const isGone = !ofProduct.some(
        ({ id }) => place.licenseId === null || id === place.licenseId,
      );
      const isDenied = this.rulesFor(product, null).findRefusal(place.facts) !== null;
      if (isGone || isDenied) this.removePlace(product, place.user);
    }
    for (const license of ofProduct) this.#withdrawHolds(license, at);
    while (this.#giveHold(product, at)) {
      // Each hold changes who comes next.
    }
  }

  /** Newest first, as many as do not fit. */
  #withdrawHolds(license: ModelLicense, at: Instant): void {
    const held = this.liveHolders(license.id, null, at).length;
    const room = this.isValid(license, at) ? Math.max(0, license.slots - held) : 0;
    const holds = this.places
      .filter(({ hold }) => hold === license.id)
      .toSorted((a, b) => a.heldAt - b.heldAt || a.number - b.number);
    for (const place of holds.slice(room)) place.hold = null;
  }

  /** Own idle home first, then priority, then arrival. */
  #sortWaiting(product: string, at: Instant): ModelPlace[] {
    const rules = this.rulesFor(product, null);
    // A place that an administrator moved comes before all priorities.
    const rankOf = ({ order, facts }: ModelPlace): number => (order < 0 ? -1 : rules.rank(facts));
    return this.places
      .filter((place) => place.product === product && place.hold === null)
      .map((place) => ({ place, isAtHome: this.#hasIdleHome(place, at), rank: rankOf(place) }))
      .toSorted(
        (a, b) =>
          Number(b.isAtHome) - Number(a.isAtHome) ||
          a.rank - b.rank ||
          a.place.order - b.place.order,
      )
      .map(({ place }) => place);
  }

  #hasIdleHome({ product, facts }: ModelPlace, at: Instant): boolean {
    const home = this.rulesFor(product, null).findHome(facts);
    return home !== null && this.countIdle(product, null, home, at) > 0;
  }

  /** The users in the order in which they get slots, if enough come free and no limit blocks. */
  listByService(product: string, at: Instant): readonly string[] {
    const { places } = this;
    this.places = places.map((place) => ({ ...place }));
    const users: string[] = [];
    for (;;) {
      const waiting = this.#sortWaiting(product, at);
      // A group that lends leaves the slots that others keep.
      const next = waiting.find((place) => this.#takesKeptSlot(place, at)) ?? waiting[0];
      if (next === undefined) break;
      next.hold = ANY_LICENSE;
      users.push(next.user);
    }
    this.places = places;
    return users;
  }

  #takesKeptSlot(place: ModelPlace, at: Instant): boolean {
    const home = this.rulesFor(place.product, null).findHome(place.facts) ?? "";
    const left = this.countKeptFromMembers(place.product, null, home, at);
    return left === 0 && this.#hasIdleHome(place, at);
  }

  #giveHold(product: string, at: Instant): boolean {
    const waiting = this.#sortWaiting(product, at);
    for (const place of waiting) {
      if (this.listReachedLimits(product, null, place.facts, at).length > 0) continue;
      if (this.isCapped(product, place.facts, at)) continue;
      const license = this.licenses.find(
        (other) =>
          other.product === product &&
          this.isValid(other, at) &&
          (place.licenseId === null || other.id === place.licenseId) &&
          this.countFree(other, null, at) > 0,
      );
      if (license === undefined || !this.hasRoom(product, null, place.facts, at)) continue;
      Object.assign(place, { hold: license.id, heldAt: at });
      this.#endRecall(product, null, place.facts);
      return true;
    }
    return false;
  }

  // Rules and licenses.

  /** More is reserved than the licenses of an installed product have. */
  isOverReserved(file: RuleFile): boolean {
    return file.blocks.some(({ product, feature }) => {
      const licenses = this.licenses.filter((license) => license.product === product);
      if (licenses.length === 0) return false;
      const slots = licenses.reduce(
        (sum, license) =>
          sum + (feature === null ? license.slots : (license.features[feature] ?? 0)),
        0,
      );
      const reserved = new NaiveRules(file, product, feature).reservations();
      return reserved.reduce((sum, reservation) => sum + reservation.slots, 0) > slots;
    });
  }

  /** Nothing that was granted changes. */
  applyRules(file: RuleFile | null): void {
    this.rules = file;
    this.recalls = [];
  }

  /** A renewed license without a feature that it had grants nothing more of it. */
  install(license: ModelLicense): void {
    const installed = this.licenses.find(({ id }) => id === license.id);
    if (installed === undefined) this.licenses = [license, ...this.licenses];
    else {
      const withdrawn = Object.keys(installed.features).map((code) => [code, 0] as const);
      const features = { ...Object.fromEntries(withdrawn), ...license.features };
      Object.assign(installed, license, { features });
    }
  }

  removeLicense(id: number): void {
    this.licenses = this.licenses.filter((license) => license.id !== id);
    this.holders = this.holders.filter((holder) => holder.license !== id);
    for (const place of this.places) if (place.hold === id) place.hold = null;
  }
}

const isFor = (
  recall: ModelRecall,
  product: string,
  feature: string | null,
  group: string | null,
): boolean => recall.product === product && recall.feature === feature && recall.group === group;

const isSlotOf = (holder: ModelHolder, license: ModelLicense, user: string): boolean =>
  holder.license === license.id && holder.feature === null && holder.user === user;
