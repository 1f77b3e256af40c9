// Short sequences of calls, clock changes and renewals at a small site.
import { expect, test } from "bun:test";
import { describeFailure, describeSearch } from "../search.ts";
import { searchSite } from "./search-site.ts";

// Each size is enough for all sequences of its length; shorter ones do not find every planted bug.
test.each([
  ["slots, a feature and the queue", "sharing", 1_500, 5],
  ["leases on two devices", "leases", 500, 4],
] as const)("no short sequence breaks a promise of a site: %s", async (_, calls, size, depth) => {
  const result = await searchSite(calls, size);
  console.log(describeSearch(result));
  expect(describeFailure(result)).toBeNull();
  expect(result.depth).toBeGreaterThanOrEqual(depth);
});
