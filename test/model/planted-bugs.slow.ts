// Shows that the model can disagree: each bug here is put into a copy of the rules, and the model
// must then differ from them.
import { testPlantedBugs } from "../support/planted-bugs.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

const SEARCH = `
import { runSeed } from "./test/model/compare.ts";
for (let seed = 1; seed <= 60; seed += 1) {
  let differs = true;
  try { differs = runSeed(seed, 400).difference !== null; } catch {}
  if (differs) { console.log("differs"); break; }
}
`;

testPlantedBugs({
  title: "the model detects a planted bug",
  bugs: PLANTED_BUGS,
  testFolder: "test/model",
  search: SEARCH,
});
