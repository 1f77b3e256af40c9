// `bun run test:attacks`: every attack, or those that are named.
import { runRigs } from "../support/run-rigs.ts";

await runRigs({ folder: import.meta.dir, always: ["raw", "slow", "imports", "requests"] });
