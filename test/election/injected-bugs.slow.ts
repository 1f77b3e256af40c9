// Shows that the simulation can fail: each bug here is put into a copy of the sources.
import { testInjectedBugs } from "../support/injected-bugs.ts";
import { INJECTED_BUGS } from "./injected-bugs.ts";

const SEARCH = `
import { log } from "./src/platform/log.ts";
import { simulatePair } from "./test/election/simulate-pair.ts";
for (const level of ["info", "warn", "error"]) log[level] = () => {};
for (let seed = 1; seed <= 4000; seed += 1) {
  let differs = true;
  try { differs = (await simulatePair(seed)).problem !== null; } catch {}
  if (differs) { console.log("differs"); break; }
}
process.exit(0);
`;

testInjectedBugs({
  title: "the simulation of a pair detects an injected bug",
  bugs: INJECTED_BUGS,
  testFolder: "test/election",
  search: SEARCH,
});
