import type { InjectedBug } from "../support/injected-bugs.ts";

export const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "the last kept slot is given away",
    in: "hasRoomFor",
    find: "$free > sumKept($state, $ruled, $at)",
    replace: "$free >= sumKept($state, $ruled, $at)",
  },
  {
    name: "a recalled reservation is lent on",
    in: "sumKept",
    find: "$use.keptIdle + sumRecalled($state, $ruled, $at)",
    replace: "$use.keptIdle",
  },
  {
    name: "a limit allows one slot more",
    in: "isReached",
    find: "$count - $own >= $slots",
    replace: "$count - $own > $slots",
  },
  {
    name: "a member of a reserved group gets no slot of its own",
    in: "hasRoomFor",
    find: "$home !== null && countIdle($ruled, $home) > 0",
    replace: "false",
  },
  {
    name: "a member of a group that lends takes a slot that another group keeps",
    in: "hasRoomFor",
    find: "$free > countKeptFromGroup($ruled, $home)",
    replace: "true",
  },
  {
    name: "an earlier end of a borrow is judged",
    in: "checkBorrow",
    find: "$currentEnd !== null && $newEnd <= $currentEnd",
    replace: "false",
  },
  {
    name: "the queue ignores priorities",
    in: "compareByService",
    find: "$a.rank - $b.rank || $a.order - $b.order",
    replace: "$a.order - $b.order",
  },
  {
    name: "the queue ignores idle homes",
    in: "isBefore",
    find: "$a.isAtHome === $b.isAtHome",
    replace: "true",
  },
  {
    name: "the oldest hold is withdrawn first",
    in: "Queue.newestHold",
    find: "this.#holds.get($license)?.last",
    replace: "this.#holds.get($license)?.first",
  },
  {
    name: "a parked user does not come back when a counter falls",
    in: "takeFallenLimits",
    find: "$state.rulesIndex.fallenCounters.take($product)",
    replace: "[]",
  },
  {
    name: "slots that have ended are still counted",
    in: "IndexedRules.findAt",
    find: "$counters.remove(factsOfHolder($holder))",
    replace: "$holder",
  },
  {
    name: "a hold is not counted",
    in: "IndexedRules.addHold",
    find: "this.#find($product, null)?.add($facts)",
    replace: "$facts",
  },
  {
    name: "a group ignores its networks",
    in: "GroupMatcher.#findByAddress",
    find: "$address === null",
    replace: "true",
  },
];
