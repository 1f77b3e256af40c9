// The same as pair.test.ts, with longer sequences: `SOAK=1` tries still longer ones.
import { expect, test } from "bun:test";
import { silenceLog } from "../../election/silence-log.ts";
import { chooseSize } from "../../support/suite-harness.ts";
import { describeFailure, describeSearch } from "../search.ts";
import { searchPair } from "./search-pair.ts";

const MAX_WORLDS = chooseSize(6_000, 100_000);
/** The length of the sequences that were all tried when this was last changed. It may only grow. */
const DEPTH = chooseSize(6, 8);

test(
  "no sequence of statements, pauses and losses breaks a promise of a pair",
  async () => {
    silenceLog();
    const result = await searchPair(MAX_WORLDS);
    console.log(describeSearch(result));
    expect(describeFailure(result)).toBeNull();
    expect(result.depth).toBeGreaterThanOrEqual(DEPTH);
  },
  60 * 60_000,
);
