// Shows that the naive model can disagree: each bug here is put into a copy of the rules, and a
// random sequence must then find it.
import { testInjectedBugs } from "../support/injected-bugs.ts";
import { INJECTED_BUGS } from "./injected-bugs.ts";

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

testInjectedBugs({
  title: "the naive model of sharing detects an injected bug",
  bugs: INJECTED_BUGS,
  testFolder: "test/sharing",
  search: SEARCH,
});
