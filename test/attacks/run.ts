// `bun run test:attacks`: every attack, or those that are named.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: ["malformed-http", "slow-connections", "forged-documents", "requests"],
});
