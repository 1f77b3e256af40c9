import type { ExhaustiveBug } from "../detect-bugs.ts";

const SEARCH = "test/exhaustive/orders/orders.test.ts";
const MODEL = "test/desk/orders/order-model.test.ts";

export const ORDER_BUGS: readonly ExhaustiveBug[] = [
  {
    name: "moves are counted for 30 days alone",
    in: "MOVE_PERIOD",
    find: "365",
    replace: "30",
    caughtBy: SEARCH,
    breaks: "more appliances over time",
  },
  {
    name: "moves are counted for ever",
    in: "countMoves",
    find: "$now - MOVE_PERIOD",
    replace: "0",
    caughtBy: SEARCH,
    breaks: "not automatic: the model says automatic (move)",
  },
  {
    name: "slots that were borrowed at a return are ignored",
    in: "describeLicense",
    find: "borrows > 0",
    replace: "false",
    caughtBy: SEARCH,
    breaks: "more appliances at once",
  },
  {
    name: "one appliance more than sold is answered",
    in: "refuseIfFull",
    find: "inUse + waiting.length < appliances",
    replace: "inUse + waiting.length <= appliances",
    caughtBy: SEARCH,
    breaks: "more appliances at once",
  },
  {
    name: "an appliance holds an order by file and by code",
    in: "refuseOtherForm",
    find: "licenseForm === form",
    replace: "true",
    caughtBy: SEARCH,
    breaks: "a code beyond the order",
  },
  {
    name: "a free place counts as never taken",
    in: "judgeUse",
    find: "state.takes < order.appliances",
    replace: "true",
    caughtBy: SEARCH,
    breaks: "use of the order",
  },
  {
    name: "an appliance that was written off is answered",
    in: "judgeUse",
    find: "findWriteOffs($$args)",
    replace: "[]",
    caughtBy: SEARCH,
    breaks: "automatic without a person",
  },
  {
    name: "a key that the vendor chose is enough",
    in: "judgeUse",
    find: "order.is_own_key",
    replace: "true",
    caughtBy: MODEL,
    breaks: "automatic without a person: the model says person (the vendor's key)",
  },
  {
    name: "consumption without a period is answered again",
    in: "judgeMove",
    find: "!countsForGood(order.terms)",
    replace: "true",
    caughtBy: MODEL,
    breaks: "automatic without a person: the model says person (consumption)",
  },
  {
    name: "a closed order is used",
    in: "refuseUnusable",
    find: "closing !== null",
    replace: "false",
    caughtBy: MODEL,
    breaks: "(closed)",
  },
];
