// Registering, borrowing, giving back; a key under which something is done once.
import type {
  AddConsumption,
  AddFeatureConsumption,
  Borrow,
  Register,
  Unregister,
  UnregisterAll,
} from "../../src/domain/command.ts";
import type { Terms } from "../../src/domain/terms.ts";
import { DAY, HOUR, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import { dropEndedBorrows, writeExpiry } from "./clock-rules.ts";
import {
  findBorrowEnd,
  computeSlotEnd,
  isHeld,
  type LicenseRecord,
  type SlotRecord,
} from "./records.ts";
import {
  computeLicenseEnd,
  filterAllowed,
  makeGrant,
  laterOf,
  addMilliseconds,
  makeRefusal,
  Refusal,
  type Answer,
  type Reason,
  type ModelSite,
} from "./site.ts";

export function register(site: ModelSite, command: Register, at: Instant): Answer {
  const user = command.user ?? "";
  const valid = site.findValidLicenses(command, { user: command.user }, at);
  const license = findLicenseForSlot(site, valid, user, at);
  if (license === null) throw makeRefusal("floating_not_available");
  const held = site.findHeldSlot(license, null, user, at);
  const slot = held ?? site.takeSlot(license, null, user, at, command.contact);
  updateContact(site, slot, command, at);
  return makeSlotAnswer(site, slot, at);
}

export function borrow(site: ModelSite, command: Borrow, at: Instant): Answer {
  const user = command.user ?? "";
  const valid = site.findValidLicenses(command, { user: command.user }, at);
  const holding = site.filterHeldBy(valid, user, at).slice(0, 1);
  const lending = filterAllowed(holding.length > 0 ? holding : valid, ({ terms }) =>
    (terms.borrowHours ?? 0) > 0 ? null : { code: "license_borrow_not_allowed" },
  );
  const license = findLicenseForSlot(site, lending, user, at);
  if (license === null) {
    const others = lending.map(({ terms }) => checkBorrow(terms, null, command, at));
    const alsoTrue = others.filter((reason) => reason !== null);
    throw new Refusal({ code: "floating_not_available" }, ...alsoTrue);
  }
  const held = site.findHeldSlot(license, null, user, at);
  const before = held === undefined ? null : findBorrowEnd(held, at);
  const wrong = checkBorrow(license.terms, before, command, at);
  if (wrong !== null) throw new Refusal(wrong);
  const slot = held ?? site.takeSlot(license, null, user, at, command.contact);
  const until = site.recordInstant(computeBorrowEnd(license.terms, before, command, at), at);
  const isEarlier = before !== null && until.value < before;
  slot.borrows = isEarlier ? [until] : [...slot.borrows, until];
  updateContact(site, slot, command, at);
  return makeSlotAnswer(site, slot, at);
}

/** The license the user holds a slot of, else the newest with a free one; null: all are full. */
function findLicenseForSlot(
  site: ModelSite,
  licenses: LicenseRecord[],
  user: string,
  at: Instant,
): LicenseRecord | null {
  const [held] = site.filterHeldBy(licenses, user, at);
  const free = licenses.find(
    (license) => site.findHeldSlots(license, null, at).length < license.terms.slots,
  );
  return held ?? free ?? null;
}

function updateContact(
  site: ModelSite,
  slot: SlotRecord,
  { contact }: Register | Borrow,
  at: Instant,
): void {
  slot.timeoutAt = site.recordInstant(
    addMilliseconds(at, slot.license.terms.timeoutMinutes * MINUTE),
    at,
  );
  slot.contact = contact;
  dropEndedBorrows(site, slot, at);
}

const makeSlotAnswer = (site: ModelSite, slot: SlotRecord, at: Instant): Answer =>
  makeGrant({
    license: slot.license.id,
    product: slot.license.terms.product,
    user: slot.user,
    contact: slot.contact,
    registeredAt: slot.takenAt.value,
    end: computeSlotEnd(slot),
    borrowedUntil: findBorrowEnd(slot, at),
    slotsInUse: site.findHeldSlots(slot.license, null, at).length,
  });

/** The latest end a borrow may have. */
function computeBorrowCap(terms: Terms, at: Instant): Instant {
  const longest = addMilliseconds(at, (terms.borrowHours ?? 0) * HOUR);
  const end = computeLicenseEnd(terms);
  return end !== null && end < longest ? end : longest;
}

/**
 * Never cut, but for a caller's clock that is a little ahead. Who names no end gets the longest
 * there is, which is at least what is borrowed already.
 */
function computeBorrowEnd(
  terms: Terms,
  before: Instant | null,
  { until }: Borrow,
  at: Instant,
): Instant {
  const cap = computeBorrowCap(terms, at);
  if (until === null) return laterOf(cap, before);
  return until > cap ? cap : until;
}

/** `before`: until when it is borrowed now. */
function checkBorrow(
  terms: Terms,
  before: Instant | null,
  command: Borrow,
  at: Instant,
): Reason | null {
  const cap = computeBorrowCap(terms, at);
  const { until } = command;
  if (until !== null && (until <= at || until > cap + 60 * SECOND)) {
    return { code: "borrow_until_not_valid", latest: cap };
  }
  if (before === null || terms.earlyReturn) return null;
  const isEarlier = computeBorrowEnd(terms, before, command, at) < before;
  return isEarlier ? { code: "early_return_not_allowed", until: before } : null;
}

export function unregister(site: ModelSite, command: Unregister, at: Instant): Answer {
  const { user } = command;
  const held = site
    .findRequestedLicenses(command, { user })
    .flatMap((license) => site.findHeldSlots(license, null, at))
    .filter((slot) => slot.user === user);
  if (held.length === 0) throw makeRefusal("user_not_registered");
  const kept = held.find((slot) => isReturnForbidden(slot, at));
  if (kept !== undefined) {
    throw makeRefusal("early_return_not_allowed", { until: findBorrowEnd(kept, at) });
  }
  for (const slot of held) release(site, slot, at);
  return makeGrant({ released: held.length });
}

export function unregisterAll(site: ModelSite, { product }: UnregisterAll, at: Instant): Answer {
  const licenses =
    product === null
      ? site.findInstalledLicenses()
      : site.findLicensesOfProduct(site.resolveProduct(product, {}));
  const held = licenses
    .flatMap((license) => site.findHeldSlots(license, null, at))
    .filter((slot) => !isReturnForbidden(slot, at));
  for (const slot of held) release(site, slot, at);
  return makeGrant({ released: held.length });
}

/** A borrowed slot of a license that takes nothing back before its time. */
const isReturnForbidden = (slot: SlotRecord, at: Instant): boolean =>
  findBorrowEnd(slot, at) !== null && !slot.license.terms.earlyReturn;

/** With a slot, the same user's slots of the license's features are given back. */
function release(site: ModelSite, slot: SlotRecord, at: Instant): void {
  for (const other of site.slots) {
    if (other.license !== slot.license || other.user !== slot.user) continue;
    if (other.feature === null || isHeld(other, at)) releaseSlot(site, other);
  }
}

/**
 * Where nothing can be given back early, a borrow that is over comes back all the same if a clock
 * set back shows that it is not over.
 */
function releaseSlot(site: ModelSite, slot: SlotRecord): void {
  if (slot.license.terms.earlyReturn) slot.isReleased = true;
  else writeExpiry(site, slot);
}

/**
 * A key counts per operation, product and user, for a day, as long as the license is there that it
 * was used on; refusals are not kept, nor is a count of zero.
 */
export function runOnce(
  site: ModelSite,
  command: Borrow | AddConsumption | AddFeatureConsumption,
  at: Instant,
  act: () => Answer,
): Answer {
  if (command.once === null) return act();
  const { type, user, product } = command;
  const needed = {
    Borrow: { user },
    AddConsumption: {},
    AddFeatureConsumption: { feature: "feature" in command ? command.feature : null },
  }[type];
  const key = JSON.stringify([type, site.resolveProduct(product, needed), user, command.once.key]);
  const known = site.keys.findLast(
    (one) => one.key === key && at < one.at.value + DAY && !one.license.isRemoved,
  );
  const { fingerprint } = command.once;
  if (known !== undefined && known.fingerprint !== fingerprint) {
    throw makeRefusal("idempotency_key_reused");
  }
  if (known !== undefined) return makeGrant(known.outcome);
  const answer = act();
  // Nothing was counted that could be counted twice.
  const isZero = "count" in command && command.count === 0;
  if ("granted" in answer && !isZero) {
    const { contact: _contact, ...outcome } = answer.granted;
    const license = site.findInstalledLicenses().find(({ id }) => id === outcome["license"]);
    if (license === undefined) throw new Error("granted on no license");
    site.keys.push({ key, fingerprint, license, at: site.recordInstant(at, at), outcome });
  }
  return answer;
}
