// `bun run test:clients`: clients generated from openapi.json, each against a demo of its own.
import { runSuites } from "../support/run-suites.ts";

await runSuites({ folder: import.meta.dir, everyRun: ["typescript", "python", "go"] });
