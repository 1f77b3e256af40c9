// Short sequences of everything that can happen to two hosts of a pair, between any two statements.
import { expect, test } from "bun:test";
import { silenceLog } from "../../election/silence-log.ts";
import { describeFailure, describeSearch } from "../search.ts";
import { searchPair } from "./search-pair.ts";

/** Enough for all sequences of this length. */
const MAX_WORLDS = 100;
const DEPTH = 3;

test("no short sequence of statements, pauses and losses breaks a promise of a pair", async () => {
  silenceLog();
  const result = await searchPair(MAX_WORLDS);
  console.log(describeSearch(result));
  expect(describeFailure(result)).toBeNull();
  expect(result.depth).toBeGreaterThanOrEqual(DEPTH);
});
