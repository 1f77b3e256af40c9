// The same as orders.test.ts, with longer sequences: `SOAK=1` tries still longer ones.
import { expect, test } from "bun:test";
import { chooseSize } from "../../support/suite-harness.ts";
import { describeFailure, describeSearch } from "../search.ts";
import { searchOrders } from "./search-orders.ts";

/** With the length of the sequences that are all tried. */
const SEARCHES = [
  { part: "everything", maxWorlds: chooseSize(15_000, 200_000), depth: chooseSize(6, 8) },
  {
    part: "codes and borrows",
    maxWorlds: chooseSize(30_000, 100_000),
    depth: chooseSize(12, 12),
  },
  {
    part: "copies, lost machines and keys",
    maxWorlds: chooseSize(30_000, 200_000),
    depth: chooseSize(9, 9),
  },
] as const;

test.each(SEARCHES.map((search) => [search.part, search] as const))(
  "no sequence breaks a promise of an order: %s",
  async (part, { maxWorlds, depth }) => {
    const result = await searchOrders(part, maxWorlds);
    console.log(describeSearch(result));
    expect(describeFailure(result)).toBeNull();
    expect(result.depth).toBeGreaterThanOrEqual(depth);
  },
  60 * 60_000,
);
