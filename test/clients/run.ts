// `bun run test:clients`: tests Berth's own clients, clients generated from openapi.json, Prometheus,
// and the recipes of `berth run` for Make and Slurm, each against a separate server.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: [
    "conformance",
    "conformance-leases",
    "conformance-builds",
    "conformance-browser",
    "examples",
    "typescript",
    "python",
    "go",
    "prometheus",
    "schedulers",
  ],
});
