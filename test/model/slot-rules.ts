// Registering, borrowing and releasing slots; idempotency keys.
import type { AddConsumption } from "../../src/domain/consumption/add-consumption.ts";
import type { AddFeatureConsumption } from "../../src/domain/consumption/add-feature-consumption.ts";
import type { Borrow } from "../../src/domain/slots/borrow.ts";
import type { Register } from "../../src/domain/slots/register.ts";
import type { Unregister, UnregisterAll } from "../../src/domain/slots/unregister.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { DAY, HOUR, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import { dropEndedBorrows, writeExpiry } from "./clock-rules.ts";
import {
  findBorrowEnd,
  findLeasedDevice,
  latestBorrowEnd,
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
  const heldSlot = site.findHeldSlot(license, null, user, at);
  const leaseReason = checkLease(heldSlot, command, at);
  if (leaseReason !== null) throw new Refusal(leaseReason);
  const slot = heldSlot ?? site.takeSlot(license, null, user, at, command.contact);
  // A lease of a borrowed slot lasts as long as the borrow, even if a heartbeat asks for it.
  for (const borrowed of slot.borrows) {
    if (borrowed.value === latestBorrowEnd(slot) && at < borrowed.value)
      borrowed.leasedTo ??= command.nonceDigest;
  }
  updateContact(site, slot, command, at);
  return makeSlotAnswer(site, slot, at);
}

export function borrow(site: ModelSite, command: Borrow, at: Instant): Answer {
  const user = command.user ?? "";
  const valid = site.findValidLicenses(command, { user: command.user }, at);
  const heldLicenses = site.filterHeldBy(valid, user, at).slice(0, 1);
  const borrowable = filterAllowed(heldLicenses.length > 0 ? heldLicenses : valid, ({ terms }) =>
    (terms.borrowHours ?? 0) > 0 ? null : { code: "license_borrow_not_allowed" },
  );
  const license = findLicenseForSlot(site, borrowable, user, at);
  if (license === null) {
    const otherReasons = borrowable.map(({ terms }) => checkBorrow(terms, null, command, at));
    const alsoTrue = otherReasons.filter((reason) => reason !== null);
    throw new Refusal({ code: "floating_not_available" }, ...alsoTrue);
  }
  const heldSlot = site.findHeldSlot(license, null, user, at);
  const before = heldSlot === undefined ? null : findBorrowEnd(heldSlot, at);
  const reasons = [
    checkLease(heldSlot, command, at),
    checkBorrow(license.terms, before, command, at),
  ].filter((reason) => reason !== null);
  if (reasons.length > 0) throw new Refusal(...reasons);
  const slot = heldSlot ?? site.takeSlot(license, null, user, at, command.contact);
  const until = {
    ...site.recordInstant(computeBorrowEnd(license.terms, before, command, at), at),
    leasedTo: findLeasedDevice(slot, at) ?? command.nonceDigest,
  };
  const isEarlier = before !== null && until.value < before;
  slot.borrows = isEarlier ? [until] : [...slot.borrows, until];
  updateContact(site, slot, command, at);
  return makeSlotAnswer(site, slot, at);
}

/** A borrow is leased to the first device that asks, until it ends. */
function checkLease(
  slot: SlotRecord | undefined,
  { nonceDigest }: Register | Borrow,
  at: Instant,
): Reason | null {
  const device = slot === undefined ? null : findLeasedDevice(slot, at);
  if (slot === undefined || device === null || nonceDigest === null) return null;
  if (device === nonceDigest) return null;
  const canReturn = slot.license.terms.earlyReturn;
  return { code: "leased_elsewhere", until: findBorrowEnd(slot, at), canReturn };
}

/** The license the user holds a slot of, else the newest with a free slot; null if all are full. */
function findLicenseForSlot(
  site: ModelSite,
  licenses: LicenseRecord[],
  user: string,
  at: Instant,
): LicenseRecord | null {
  const [heldLicense] = site.filterHeldBy(licenses, user, at);
  const freeLicense = licenses.find(
    (license) => site.findHeldSlots(license, null, at).length < license.terms.slots,
  );
  return heldLicense ?? freeLicense ?? null;
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
 * A requested end is cut only for a client clock that is a little ahead. Without a requested end it
 * is the latest allowed one, and never earlier than the end of the current borrow.
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

/** `before` is the end of the current borrow. */
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
  const heldSlots = site
    .findRequestedLicenses(command, { user })
    .flatMap((license) => site.findHeldSlots(license, null, at))
    .filter((slot) => slot.user === user);
  if (heldSlots.length === 0) throw makeRefusal("user_not_registered");
  const unreturnable = heldSlots.find((slot) => isReturnForbidden(slot, at));
  if (unreturnable !== undefined) {
    throw makeRefusal("early_return_not_allowed", { until: findBorrowEnd(unreturnable, at) });
  }
  for (const slot of heldSlots) release(site, slot, at);
  return makeGrant({ released: heldSlots.length });
}

export function unregisterAll(site: ModelSite, { product }: UnregisterAll, at: Instant): Answer {
  const licenses =
    product === null
      ? site.findInstalledLicenses()
      : site.findLicensesOfProduct(site.resolveProduct(product, {}));
  const heldSlots = licenses
    .flatMap((license) => site.findHeldSlots(license, null, at))
    .filter((slot) => !isReturnForbidden(slot, at));
  for (const slot of heldSlots) release(site, slot, at);
  return makeGrant({ released: heldSlots.length });
}

/** Whether the slot is borrowed from a license that does not allow early return. */
const isReturnForbidden = (slot: SlotRecord, at: Instant): boolean =>
  findBorrowEnd(slot, at) !== null && !slot.license.terms.earlyReturn;

/** Releases the slot together with the same user's feature slots of that license. */
function release(site: ModelSite, slot: SlotRecord, at: Instant): void {
  for (const other of site.slots) {
    if (other.license !== slot.license || other.user !== slot.user) continue;
    if (other.feature === null || isHeld(other, at)) releaseSlot(site, other);
  }
}

/**
 * Where early return is not allowed, a borrow that has ended is restored if a clock that is set
 * back shows that it has not ended.
 */
function releaseSlot(site: ModelSite, slot: SlotRecord): void {
  if (slot.license.terms.earlyReturn) slot.isReleased = true;
  else writeExpiry(site, slot);
}

/**
 * A key applies to one operation, product and user, for a day, while the license that it was used
 * on is installed. Refusals and counts of zero are not remembered.
 */
export function runOnce(
  site: ModelSite,
  command: Borrow | AddConsumption | AddFeatureConsumption,
  at: Instant,
  execute: () => Answer,
): Answer {
  if (command.once === null) return execute();
  const { type, user, product } = command;
  const requiredFields = {
    Borrow: { user },
    AddConsumption: {},
    AddFeatureConsumption: { feature: "feature" in command ? command.feature : null },
  }[type];
  const key = JSON.stringify([
    type,
    site.resolveProduct(product, requiredFields),
    user,
    command.once.key,
  ]);
  const remembered = site.keys.findLast(
    (record) => record.key === key && at < record.at.value + DAY && !record.license.isRemoved,
  );
  const { fingerprint } = command.once;
  if (remembered !== undefined && remembered.fingerprint !== fingerprint) {
    throw makeRefusal("idempotency_key_reused");
  }
  if (remembered !== undefined) {
    const slot = site.findHeldSlot(remembered.license, null, user, at);
    const reason = command.type === "Borrow" ? checkLease(slot, command, at) : null;
    if (reason !== null) throw new Refusal(reason);
    return makeGrant(remembered.outcome);
  }
  const answer = execute();
  // A count of zero cannot be counted twice.
  const isZero = "count" in command && command.count === 0;
  if ("granted" in answer && !isZero) {
    const { contact: _contact, ...outcome } = answer.granted;
    const license = site.findInstalledLicenses().find(({ id }) => id === outcome["license"]);
    if (license === undefined) throw new Error("granted on no license");
    site.keys.push({ key, fingerprint, license, at: site.recordInstant(at, at), outcome });
  }
  return answer;
}
