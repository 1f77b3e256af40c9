// `bun run test:clients`: clients generated from openapi.json, each against a demo of its own.
import { runRigs } from "../support/run-rigs.ts";

await runRigs({ folder: import.meta.dir, always: ["typescript", "python", "go"] });
