import type { InjectedBug } from "../../support/injected-bugs.ts";

export const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "a held slot is given to another user",
    in: "countFreeSlots",
    find: "$slots - $used - countHolds($state, $license)",
    replace: "$slots - $used",
  },
  {
    name: "priority is ignored",
    in: "compareByService",
    find: "$a.rank - $b.rank || $a.order - $b.order",
    replace: "$a.order - $b.order",
  },
  {
    name: "idle slots of a reserved group do not serve its members first",
    in: "isBefore",
    find: "$a.isAtHome === $b.isAtHome ? $before : $a.isAtHome",
    replace: "$before",
  },
  {
    name: "a slot that is kept for a group is given to a waiting user of another group",
    in: "findNextGrant",
    find: "!hasRoomFor($state, $pool, $home, $total, $at)",
    replace: "false",
  },
  {
    name: "users under a limit do not come back when its counter falls",
    in: "findNextGrant",
    find: "watchLimit($state, $product, $key)",
    replace: "null",
  },
  {
    name: "users under a cap do not come back when a slot is released",
    in: "Queues.openCaps",
    find: "$queue.open(peerCapKey($peer))",
    replace: "null",
  },
  {
    name: "users under a cap do not come back when a slot ends",
    in: "WaitingLists.wake",
    find: "this.open($key)",
    replace: "null",
  },
  {
    name: "the oldest hold is withdrawn first",
    in: "compareByHold",
    find: "$a.hold.at - $b.hold.at",
    replace: "$b.hold.at - $a.hold.at",
  },
  {
    name: "applied rules do not change the users who wait",
    in: "rebuildQueues",
    find: "computeStanding($state, $product, $place)",
    replace: "$place",
  },
  {
    name: "a hold is not counted by the rules after a restart",
    in: "loadPlace",
    find: "$place.hold !== null",
    replace: "false",
  },
];
