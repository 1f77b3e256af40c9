// What must hold at a site, whatever happens. Nothing here uses a decision of the rules: only who
// holds what, who waits, and what was acknowledged.
import type { Command } from "../../../src/domain/decide.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import type { Fault } from "../../../src/domain/model/fault.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { HOUR, later, latest, MINUTE } from "../../../src/domain/time.ts";
import { demand } from "../search.ts";
import {
  FEATURE,
  getLicense,
  PRODUCT,
  systemTimeOf,
  TIMEOUT,
  trueTimeOf,
  USERS,
  type BorrowPromise,
  type SiteWorld,
} from "./world.ts";

/** The place of each waiting user: its order, and whether a slot is held for it. */
export type Places = ReadonlyMap<string, { readonly order: number; readonly isHeld: boolean }>;

export function readPlaces({ queues }: State): Places {
  const places = new Map<string, { readonly order: number; readonly isHeld: boolean }>();
  for (const { user, order, hold } of queues.get(PRODUCT)?.places ?? [])
    places.set(user, { order, isHeld: hold !== null });
  return places;
}

type Known = Pick<SiteWorld, "clock" | "promises">;

/** Until when the user was told to have a borrow, if that is still to come by the system clock. */
const findPromise = ({ clock, promises }: Known, user: string): BorrowPromise | undefined =>
  promises.find((promise) => promise.user === user && promise.until > systemTimeOf(clock));

/** Users with a slot, with a slot that is held for them, or with a borrow that was acknowledged. */
function listClaimants(known: Known, state: State): readonly string[] {
  const { pool } = getLicense(state);
  return USERS.filter((user) => {
    const slot = pool.get(user);
    if (slot !== undefined && slot.end > known.clock.at) return true;
    if (state.queues.get(PRODUCT)?.get(user)?.hold != null) return true;
    return findPromise(known, user) !== undefined;
  });
}

/** Whether the user can have a slot without taking one that another user has a claim to. */
function hasSlotFor(user: string, known: Known, state: State): boolean {
  const others = listClaimants(known, state).filter((other) => other !== user);
  return others.length < getLicense(state).terms.slots;
}

/**
 * After a grant: the license is not over-lent, and nobody who waited longer could have had the slot.
 * `places`: before the command.
 */
export function checkGrant(event: Event, places: Places, known: Known, state: State): void {
  if (event.type !== "SlotTaken" && event.type !== "HoldGiven") return;
  const { user } = event;
  demand(hasSlotFor(user, known, state), () => {
    const others = listClaimants(known, state).filter((other) => other !== user);
    return `more slots are lent than there are: ${user} gets one beside ${others.join(" and ")}`;
  });
  const own = places.get(user);
  // The slot was kept for this user already.
  if (own?.isHeld === true || findPromise(known, user) !== undefined) return;
  for (const [other, place] of places) {
    if (other === user || place.isHeld || (own !== undefined && own.order < place.order)) continue;
    const claimants = listClaimants(known, state).filter((one) => one !== user && one !== other);
    demand(
      claimants.length >= getLicense(state).terms.slots,
      () => `${user} overtakes ${other}, who waits longer`,
    );
  }
}

/** A device gets the lease of a borrow: no other device has one that is still valid. */
export function checkLease(user: string, device: string, known: Known): void {
  const now = systemTimeOf(known.clock);
  const leases = known.promises.find((promise) => promise.user === user)?.leases ?? {};
  const valid = Object.entries(leases).flatMap(([name, end]) => (end > now ? [name] : []));
  demand(
    valid.length === 0 || valid.includes(device),
    () => `two leases of one slot: ${user} gets one on the ${device}, and has one elsewhere`,
  );
}

/** A borrow is returned, or its end is moved to an earlier time. */
export function checkReturn(user: string, known: Known, state: State): void {
  const { earlyReturn } = getLicense(state).terms;
  const until = known.promises.find((promise) => promise.user === user)?.until ?? 0;
  demand(
    earlyReturn || until <= known.clock.at,
    () => `an early return that is not allowed: ${user} returns a borrow`,
  );
}

/** Whether the naive model knows the reason of a refusal. If not, the reason is checked here. */
export function checkRefusal(fault: Fault, command: Command, known: Known, state: State): boolean {
  const user = ("user" in command ? command.user : null) ?? "";
  const promise = known.promises.find((entry) => entry.user === user);
  switch (fault.code) {
    case "clock_suspect":
      demand(
        known.clock.isCorrected && !hasSlotFor(user, known, state),
        () => `${user} is refused because of the clock, and a slot is free for ${user}`,
      );
      return false;
    case "leased_elsewhere":
      demand(
        "nonceDigest" in command && isLeasedElsewhere(promise, command.nonceDigest),
        () => `${user} is refused because of a lease, and there is none`,
      );
      return false;
    case "early_return_not_allowed":
      demand(
        !getLicense(state).terms.earlyReturn && promise !== undefined,
        () => `${user} is refused an early return that is allowed`,
      );
      return false;
    default:
      return true;
  }
}

/** A borrow is leased to one device until it ends, also if that device's lease ends earlier. */
const isLeasedElsewhere = (promise: BorrowPromise | undefined, device: string | null): boolean =>
  Object.keys(promise?.leases ?? {}).some((name) => name !== device);

/** In every world. */
export function checkWorld(known: Known, state: State): void {
  const { clock } = known;
  const { pool, features } = getLicense(state);
  for (const { user, until } of known.promises) {
    // By the time that is believed, it has ended. If the clock is known to be wrong, no other user
    // gets the slot: see `checkGrant`.
    if (until <= clock.at) continue;
    const slot = pool.get(user);
    const end = slot !== undefined && slot.end > clock.at ? (slot.borrowedUntil ?? 0) : 0;
    demand(
      end >= until,
      () =>
        `a borrow is shortened: ${user} was told ${describeSpan(until - clock.at)}, ` +
        `and has ${describeSpan(Math.max(0, end - clock.at))}`,
    );
  }
  for (const { user, end } of pool.inSlotOrder()) {
    const until = known.promises.find((promise) => promise.user === user)?.until ?? clock.at;
    demand(
      end <= latest(later(clock.at, TIMEOUT), until),
      () => `${user} keeps a slot for ${describeSpan(end - clock.at)}, which nobody granted`,
    );
  }
  for (const { user, end } of features.get(FEATURE)?.pool.inSlotOrder() ?? []) {
    demand(
      end <= clock.at || end <= (pool.get(user)?.end ?? 0),
      () => `the slot of a feature outlasts that of the license: ${user} keeps it`,
    );
  }
}

/** What was acknowledged, without what has truly ended. */
export function dropEndedPromises({ clock, promises }: Known): readonly BorrowPromise[] {
  const now = trueTimeOf(clock);
  return promises.every(({ until }) => until > now)
    ? promises
    : promises.filter(({ until }) => until > now);
}

const describeSpan = (milliseconds: number): string =>
  `${Math.floor(milliseconds / HOUR)} h ${Math.round((milliseconds % HOUR) / MINUTE)} min`;
