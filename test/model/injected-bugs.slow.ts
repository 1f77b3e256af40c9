// Shows that the model can disagree: each bug here is put into a copy of the rules, and the model
// must then differ from them.
import { testInjectedBugs } from "../support/injected-bugs.ts";
import { INJECTED_BUGS } from "./injected-bugs.ts";

const SEARCH = `
import { runSeed } from "./test/model/compare.ts";
for (let seed = 1; seed <= 60; seed += 1) {
  let differs = true;
  try { differs = runSeed(seed, 400).difference !== null; } catch {}
  if (differs) { console.log("differs"); break; }
}
`;

testInjectedBugs({
  title: "the model detects an injected bug",
  bugs: INJECTED_BUGS,
  testFolder: "test/model",
  search: SEARCH,
});
