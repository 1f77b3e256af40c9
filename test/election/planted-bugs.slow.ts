// Shows that the simulation can fail: each bug here is put into a copy of the sources.
import { testPlantedBugs } from "../support/planted-bugs.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

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

testPlantedBugs({
  title: "the simulation of a pair detects a planted bug",
  bugs: PLANTED_BUGS,
  testFolder: "test/election",
  search: SEARCH,
});
