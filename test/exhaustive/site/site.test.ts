// Short sequences of calls, clock changes and renewals at a small site.
import { expect, test } from "bun:test";
import { describeFailure, describeSearch } from "../search.ts";
import { searchSite } from "./search-site.ts";

// Each size is enough for all sequences of its length.
test.each([
  ["slots, a feature and the queue", "sharing", 300, 4],
  ["leases on two devices", "leases", 130, 3],
] as const)("no short sequence breaks a promise of a site: %s", async (_, calls, size, depth) => {
  const result = await searchSite(calls, size);
  console.log(describeSearch(result));
  expect(describeFailure(result)).toBeNull();
  expect(result.depth).toBeGreaterThanOrEqual(depth);
});
