// A key that is equal for worlds in which the same happens from here on.
//
// - Times are relative to now.
// - The clock is never set back to before the true time. So what has truly ended does not matter,
//   and of a time that has truly passed only its order among the clock jumps.
// - Slots and places have rising numbers: only their order matters.
// - The rules compare names of users only for equality, so users can change places: each has a text
//   with all that is known of it, and the key has these texts in their own order.
import { lapsedBorrowKey } from "../../../src/domain/clock/clock-jumps.ts";
import type { State } from "../../../src/domain/model/state.ts";
import type { Instant } from "../../../src/domain/time.ts";
import {
  FEATURE,
  getLicense,
  LICENSE,
  PRODUCT,
  trueTimeOf,
  USERS,
  type SiteWorld,
} from "./world.ts";

type Known = Pick<SiteWorld, "clock" | "promises">;

/** All that is known of each of `USERS`. */
export function describeUsers({ clock, promises }: Known, state: State): readonly string[] {
  const { at } = clock;
  const trueTime = trueTimeOf(clock);
  const { clockJumps, queues, lapsedBorrows } = state;
  const { pool, features } = getLicense(state);
  const slotsOfFeature = features.get(FEATURE)?.pool;
  const hasNotEnded = ({ end }: { readonly end: Instant }): boolean => end > trueTime;
  const known = USERS.map((user) => {
    const slot = pool.get(user);
    const featureSlot = slotsOfFeature?.get(user);
    const lapsed = lapsedBorrows.get(lapsedBorrowKey(LICENSE, user));
    return {
      slot: slot && hasNotEnded(slot) ? slot : null,
      featureSlot: featureSlot && hasNotEnded(featureSlot) ? featureSlot : null,
      lapsed: lapsed && lapsed.borrowedUntil > trueTime ? lapsed : null,
      place: queues.get(PRODUCT)?.get(user) ?? null,
      promise: promises.find((entry) => entry.user === user) ?? null,
    };
  });
  const slotRanks = rank(
    known.flatMap(({ slot, featureSlot, lapsed }) => [slot?.slot, featureSlot?.slot, lapsed?.slot]),
  );
  const placeRanks = rank(known.map(({ place }) => place?.order));
  const holdRanks = rank(known.map(({ place }) => place?.hold?.at));

  /** A set-back moves what was set at this time by so much. */
  const describeTime = (time: Instant): string => {
    let text = "";
    for (const { from } of clockJumps) text += time <= from ? "<" : ">";
    return time > trueTime ? `${text}${time - at}` : text;
  };
  const describeBorrow = (borrow: {
    readonly borrowedUntil: Instant | null;
    readonly borrowedAt: Instant | null;
    readonly leasedTo: string | null;
  }): string => {
    const { borrowedUntil, borrowedAt, leasedTo } = borrow;
    if (borrowedUntil === null || borrowedAt === null || borrowedUntil <= trueTime) return "";
    return `B${borrowedUntil - at},${describeTime(borrowedAt)},${leasedTo}`;
  };
  return known.map(({ slot, featureSlot, lapsed, place, promise }) => {
    let text = "";
    if (slot !== null) {
      text += `S${slotRanks.indexOf(slot.slot)},${slot.end - at},${describeTime(slot.setAt)}`;
      text += describeBorrow(slot);
    }
    if (featureSlot !== null) {
      const { slot: number, end, timeoutAt, setAt } = featureSlot;
      const ends = `${end - at},${timeoutAt - at}`;
      text += `F${slotRanks.indexOf(number)},${ends},${describeTime(setAt)}`;
    }
    if (lapsed !== null) text += `L${slotRanks.indexOf(lapsed.slot)}${describeBorrow(lapsed)}`;
    if (place !== null) text += `P${placeRanks.indexOf(place.order)}`;
    if (place?.hold != null) text += `H${holdRanks.indexOf(place.hold.at)}`;
    if (promise === null) return text;
    const leases = Object.entries(promise.leases).map(([device, end]) => `${device}${end - at}`);
    return `${text}U${promise.until - at}${leases.toSorted().join()}`;
  });
}

const rank = (values: readonly (number | undefined)[]): readonly number[] =>
  values.filter((value) => value !== undefined).toSorted((a, b) => a - b);

export function makeKey({ clock }: Known, state: State, users: readonly string[]): string {
  const { at, ahead, isCorrected, jumpCount } = clock;
  const trueTime = trueTimeOf(clock);
  // Of a jump to a time that has truly passed, only its length matters.
  const jumps = state.clockJumps.map(({ from, to }) =>
    to <= trueTime ? `${to - from}` : `${from - at}:${to - at}`,
  );
  const { slots } = getLicense(state).terms;
  const site = [ahead, isCorrected, jumpCount, slots, state.hasLentTimeDependent];
  return [...users.toSorted(), ...site, ...jumps].join("|");
}
