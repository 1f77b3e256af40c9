// `bun run test`: `bun test` on all processors. After Ctrl-C no process of a test goes on.
import { becomeBun, TEST_COMMAND } from "../support/processes.ts";

await becomeBun([...TEST_COMMAND, ...process.argv.slice(2)], process.cwd());
