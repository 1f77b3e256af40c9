// `bun run test:build`: builds the executables of all targets twice, and tests them.
import { runSuites } from "../support/run-suites.ts";

await runSuites({ folder: import.meta.dir, everyRun: ["build"] });
