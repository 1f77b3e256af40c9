// Shows that the search of orders, and the comparison with the model, can fail.
import { testExhaustiveBugs } from "../detect-bugs.ts";
import { ORDER_BUGS } from "./planted-bugs.ts";

testExhaustiveBugs(ORDER_BUGS);
