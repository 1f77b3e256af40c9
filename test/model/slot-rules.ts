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
import { dropBorrows, writeOff } from "./clock-rules.ts";
import { borrowEnd, endOfSlot, isHeld, type LicenseRecord, type SlotRecord } from "./records.ts";
import {
  endOfLicense,
  fitting,
  granted,
  latest,
  plus,
  refusal,
  Refusal,
  type Answer,
  type Reason,
  type Site,
} from "./site.ts";

export function register(site: Site, command: Register, at: Instant): Answer {
  const user = command.user ?? "";
  const valid = site.valid(command, { user: command.user }, at);
  const license = findPlace(site, valid, user, at);
  if (license === null) throw refusal("floating_not_available");
  const held = site.slotOf(license, null, user, at);
  const slot = held ?? site.take(license, null, user, at, command.contact);
  touch(site, slot, command, at);
  return showSlot(site, slot, at);
}

export function borrow(site: Site, command: Borrow, at: Instant): Answer {
  const user = command.user ?? "";
  const valid = site.valid(command, { user: command.user }, at);
  const holding = site.heldOf(valid, user, at).slice(0, 1);
  const lending = fitting(holding.length > 0 ? holding : valid, ({ terms }) =>
    (terms.borrowHours ?? 0) > 0 ? null : { code: "license_borrow_not_allowed" },
  );
  const license = findPlace(site, lending, user, at);
  if (license === null) {
    const others = lending.map(({ terms }) => borrowRefusal(terms, null, command, at));
    const alsoTrue = others.filter((reason) => reason !== null);
    throw new Refusal({ code: "floating_not_available" }, ...alsoTrue);
  }
  const held = site.slotOf(license, null, user, at);
  const before = held === undefined ? null : borrowEnd(held, at);
  const wrong = borrowRefusal(license.terms, before, command, at);
  if (wrong !== null) throw new Refusal(wrong);
  const slot = held ?? site.take(license, null, user, at, command.contact);
  const until = site.dated(borrowUntil(license.terms, before, command, at), at);
  const isEarlier = before !== null && until.value < before;
  slot.borrows = isEarlier ? [until] : [...slot.borrows, until];
  touch(site, slot, command, at);
  return showSlot(site, slot, at);
}

/** The license the user holds a slot of, else the newest with a free one; null: all are full. */
function findPlace(
  site: Site,
  licenses: LicenseRecord[],
  user: string,
  at: Instant,
): LicenseRecord | null {
  const [held] = site.heldOf(licenses, user, at);
  const free = licenses.find(
    (license) => site.holders(license, null, at).length < license.terms.slots,
  );
  return held ?? free ?? null;
}

function touch(site: Site, slot: SlotRecord, { contact }: Register | Borrow, at: Instant): void {
  slot.aliveUntil = site.dated(plus(at, slot.license.terms.timeoutMinutes * MINUTE), at);
  slot.contact = contact;
  dropBorrows(site, slot, at);
}

const showSlot = (site: Site, slot: SlotRecord, at: Instant): Answer =>
  granted({
    license: slot.license.id,
    product: slot.license.terms.product,
    user: slot.user,
    contact: slot.contact,
    registeredAt: slot.since.value,
    end: endOfSlot(slot),
    borrowedUntil: borrowEnd(slot, at),
    slotsInUse: site.holders(slot.license, null, at).length,
  });

/** The latest end a borrow may have. */
function borrowCap(terms: Terms, at: Instant): Instant {
  const longest = plus(at, (terms.borrowHours ?? 0) * HOUR);
  const end = endOfLicense(terms);
  return end !== null && end < longest ? end : longest;
}

/**
 * Never cut, but for a caller's clock that is a little ahead. Who names no end gets the longest
 * there is, which is at least what is borrowed already.
 */
function borrowUntil(
  terms: Terms,
  before: Instant | null,
  { until }: Borrow,
  at: Instant,
): Instant {
  const cap = borrowCap(terms, at);
  if (until === null) return latest(cap, before);
  return until > cap ? cap : until;
}

/** `before`: until when it is borrowed now. */
function borrowRefusal(
  terms: Terms,
  before: Instant | null,
  command: Borrow,
  at: Instant,
): Reason | null {
  const cap = borrowCap(terms, at);
  const { until } = command;
  if (until !== null && (until <= at || until > cap + 60 * SECOND)) {
    return { code: "borrow_until_not_valid", latest: cap };
  }
  if (before === null || terms.earlyReturn) return null;
  const isEarlier = borrowUntil(terms, before, command, at) < before;
  return isEarlier ? { code: "early_return_not_allowed", until: before } : null;
}

export function unregister(site: Site, command: Unregister, at: Instant): Answer {
  const { user } = command;
  const held = site
    .meant(command, { user })
    .flatMap((license) => site.holders(license, null, at))
    .filter((slot) => slot.user === user);
  if (held.length === 0) throw refusal("user_not_registered");
  const kept = held.find((slot) => mustStay(slot, at));
  if (kept !== undefined) {
    throw refusal("early_return_not_allowed", { until: borrowEnd(kept, at) });
  }
  for (const slot of held) release(site, slot, at);
  return granted({ released: held.length });
}

export function unregisterAll(site: Site, { product }: UnregisterAll, at: Instant): Answer {
  const licenses = product === null ? site.installed() : site.ofProduct(site.product(product, {}));
  const held = licenses
    .flatMap((license) => site.holders(license, null, at))
    .filter((slot) => !mustStay(slot, at));
  for (const slot of held) release(site, slot, at);
  return granted({ released: held.length });
}

/** A borrowed slot of a license that takes nothing back before its time. */
const mustStay = (slot: SlotRecord, at: Instant): boolean =>
  borrowEnd(slot, at) !== null && !slot.license.terms.earlyReturn;

/** With a slot, the same user's slots of the license's features are given back. */
function release(site: Site, slot: SlotRecord, at: Instant): void {
  for (const other of site.slots) {
    if (other.license !== slot.license || other.user !== slot.user) continue;
    if (other.feature === null || isHeld(other, at)) giveBack(site, other);
  }
}

/**
 * Where nothing can be given back early, a borrow that is over comes back all the same if a clock
 * set back shows that it is not over.
 */
function giveBack(site: Site, slot: SlotRecord): void {
  if (slot.license.terms.earlyReturn) slot.isReleased = true;
  else writeOff(site, slot);
}

/**
 * A key counts per operation, product and user, for a day, as long as the license is there that it
 * was used on; refusals are not kept, nor is a count of zero.
 */
export function once(
  site: Site,
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
  const key = JSON.stringify([type, site.product(product, needed), user, command.once.key]);
  const known = site.keys.findLast(
    (one) => one.key === key && at < one.at.value + DAY && !one.license.isRemoved,
  );
  const { fingerprint } = command.once;
  if (known !== undefined && known.fingerprint !== fingerprint) {
    throw refusal("idempotency_key_reused");
  }
  if (known !== undefined) return granted(known.outcome);
  const answer = act();
  // Nothing was counted that could be counted twice.
  const isZero = "count" in command && command.count === 0;
  if ("granted" in answer && !isZero) {
    const { contact: _contact, ...outcome } = answer.granted;
    const license = site.installed().find(({ id }) => id === outcome["license"]);
    if (license === undefined) throw new Error("granted on no license");
    site.keys.push({ key, fingerprint, license, at: site.dated(at, at), outcome });
  }
  return answer;
}
