// `bun run test`: `bun test` on all processors. After Ctrl-C no process of a test goes on.
import { becomeBun } from "../support/processes.ts";

await becomeBun(["test", "--parallel", ...process.argv.slice(2)], process.cwd());
