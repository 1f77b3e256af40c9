// `bun run test:attacks [NAME...]`: runs every attack suite, or the named ones.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: ["malformed-http", "slow-connections", "forged-documents", "requests"],
});
