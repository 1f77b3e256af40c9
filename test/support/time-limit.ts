// Runs before every `bun test` and sets how long one test may take. It is no judgement of the
// machine: a test that waits in vain gives up by itself before, and says what it waited for.
import { setDefaultTimeout } from "bun:test";
import { PATIENCE } from "./patience.ts";

setDefaultTimeout(2 * PATIENCE);
