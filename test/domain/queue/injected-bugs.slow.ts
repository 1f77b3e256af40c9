// Shows that the plain walk over the queue can disagree: each bug here is put into a copy of the
// sources, and the dispatch must then serve other users than the walk.
import { testInjectedBugs } from "../../support/injected-bugs.ts";
import { INJECTED_BUGS } from "./injected-bugs.ts";

const SEARCH = `
import { runRandomSequence } from "./test/domain/queue/random-queue.ts";
for (let seed = 1; seed <= 300; seed += 1) {
  let differs = false;
  try { runRandomSequence(seed); } catch { differs = true; }
  if (differs) { console.log("differs"); break; }
}
`;

testInjectedBugs({
  title: "the plain walk over the queue detects an injected bug",
  bugs: INJECTED_BUGS,
  testFolder: "test/domain/queue",
  search: SEARCH,
});
