// Shows that the naive model can disagree: each bug here is put into a copy of the rules, and a
// random sequence must then find it.
import { testPlantedBugs } from "../support/planted-bugs.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

const SEARCH = `
import { generateSequence } from "./test/sharing/generate.ts";
import { SequenceRun } from "./test/sharing/run-sequence.ts";
import { SeededRandom } from "./test/support/seeded-random.ts";
for (let seed = 1; seed <= 900; seed += 1) {
  try {
    new SequenceRun().run(generateSequence(new SeededRandom(seed), 40));
  } catch {
    console.log("differs");
    break;
  }
}
`;

testPlantedBugs({
  title: "the naive model of sharing detects a planted bug",
  bugs: PLANTED_BUGS,
  testFolder: "test/sharing",
  search: SEARCH,
});
