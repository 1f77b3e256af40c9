// Shows that the search of a pair can fail.
import { testExhaustiveBugs } from "../detect-bugs.ts";
import { PAIR_BUGS } from "./planted-bugs.ts";

testExhaustiveBugs(PAIR_BUGS);
