import type { PlantedBug } from "../support/planted-bugs.ts";

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "a slot is still held at the instant it ends",
    in: "findHeldSlot",
    find: "$at < $holder.end",
    replace: "$at <= $holder.end",
  },
  {
    name: "one slot more is granted than the license has",
    in: "findFreeSlot",
    find: "countSlotsInUse($pool, $at) + $holds < $slots",
    replace: "countSlotsInUse($pool, $at) + $holds <= $slots",
  },
  {
    name: "a borrow may be longer than the license allows",
    in: "computeBorrowEnd",
    find: "later($at, ($hours ?? 0) * HOUR)",
    replace: "later($at, ($hours ?? 0) * HOUR + 1)",
  },
  {
    name: "a borrowed slot is released early where that is not allowed",
    in: "findLockEnd",
    find: "$terms.earlyReturn ? null : $end",
    replace: "null",
  },
  {
    name: "overage is not granted",
    in: "computeAllowance",
    find: "$max + $overages",
    replace: "$max",
  },
  {
    name: "a total is reset a day late",
    in: "findNextPeriodStart",
    find: "8 - $dayOfWeek",
    replace: "9 - $dayOfWeek",
  },
  {
    name: "a feature slot outlasts its license slot",
    in: "makeFeatureSlotFields",
    find: "earliest($timeoutAt, $licenseEnd)",
    replace: "$timeoutAt",
  },
  {
    name: "setting the clock back moves grants from before the jump",
    in: "makeClockSkewAt",
    find: "$setAt <= $to ? 0 : Math.max(0, $from - $to - sumJumpsSince($jumps, $setAt))",
    replace: "$jumps.length > 0 || $setAt > $to ? $from - $to : 0",
  },
  {
    name: "a borrow that ended by a wrong clock is not restored",
    in: "decideSetClockBack",
    find: "findBorrowsToRestore($state, $newTime)",
    replace: "[]",
  },
  {
    name: "counts made while the clock was wrong are lost",
    in: "moveCounter",
    find: "$total + $counter.counted - $before.counted",
    replace: "$total",
  },
  {
    name: "a cancelled request can still be answered",
    in: "cancelRequest",
    find: "$state.requests.delete($request)",
    replace: "$state.requests.has($request)",
  },
  {
    name: "two devices get leases of one borrow",
    in: "checkLeasedElsewhere",
    find: "$lease === null || $lease.device === $nonceDigest",
    replace: "true",
  },
  {
    name: "a lease that a heartbeat asks for is not remembered",
    in: "decideRegister",
    find: "$isFirstLease && $nonceDigest !== null",
    replace: "false",
  },
  {
    name: "a borrow whose end moves is leased to another device",
    in: "decideBorrow",
    find: "findLease($$args)?.device ?? $nonceDigest",
    replace: "$nonceDigest",
  },
  {
    name: "a repeated borrow is answered to another device",
    in: "decideBorrow",
    find: "$license && checkLeasedElsewhere($$args)",
    replace: "null",
  },
  {
    name: "borrows that have ended are still counted",
    in: "MutableRegistrationPool.countBorrowed",
    find: "this.#borrowEnds.countEnded($at)",
    replace: "0",
  },
  {
    name: "a refused call changes the state",
    in: "decideBorrow",
    find: "leaseFault !== null",
    replace:
      "(leaseFault !== null && Object.assign(registration ?? {}, { lastSeenAt: 0 })) !== false",
  },
];
