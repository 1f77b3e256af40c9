// Shows that the search of a site can fail.
import { testExhaustiveBugs } from "../detect-bugs.ts";
import { SITE_BUGS } from "./planted-bugs.ts";

testExhaustiveBugs(SITE_BUGS);
