// `bun run test:clients`: tests clients generated from openapi.json, and Prometheus, each against a
// separate server.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: ["typescript", "python", "go", "prometheus"],
});
