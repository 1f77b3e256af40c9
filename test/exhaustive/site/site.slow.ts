// The same as site.test.ts, with longer sequences: `SOAK=1` tries still longer ones.
import { expect, test } from "bun:test";
import { chooseSize } from "../../support/suite-harness.ts";
import { describeFailure, describeSearch } from "../search.ts";
import { searchSite } from "./search-site.ts";

/** With the length of the sequences that are all tried. */
const SEARCHES = [
  {
    title: "slots, a feature and the queue",
    calls: "sharing",
    maxWorlds: chooseSize(30_000, 500_000),
    depth: chooseSize(7, 9),
  },
  {
    title: "leases on two devices",
    calls: "leases",
    maxWorlds: chooseSize(100_000, 600_000),
    depth: chooseSize(7, 8),
  },
] as const;

test.each(SEARCHES.map((search) => [search.title, search] as const))(
  "no sequence breaks a promise of a site: %s",
  async (_, { calls, maxWorlds, depth }) => {
    const result = await searchSite(calls, maxWorlds);
    console.log(describeSearch(result));
    expect(describeFailure(result)).toBeNull();
    expect(result.depth).toBeGreaterThanOrEqual(depth);
  },
  60 * 60_000,
);
