// Short sequences of everything that can happen to an order of one appliance.
import { expect, test } from "bun:test";
import { describeFailure, describeSearch } from "../search.ts";
import { searchOrders } from "./search-orders.ts";

/** Enough for all sequences of this length. */
const MAX_WORLDS = 600;
const DEPTH = 4;

test("no short sequence of requests, codes and returns breaks a promise of an order", async () => {
  const result = await searchOrders("everything", MAX_WORLDS);
  console.log(describeSearch(result));
  expect(describeFailure(result)).toBeNull();
  expect(result.depth).toBeGreaterThanOrEqual(DEPTH);
});
