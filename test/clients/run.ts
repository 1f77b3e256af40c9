// `bun run test:clients`: tests clients generated from openapi.json, each against a separate demo.
import { runSuites } from "../support/run-suites.ts";

await runSuites({ folder: import.meta.dir, everyRun: ["typescript", "python", "go"] });
