// `bun run test:faults`: every fault rig, or those that are named.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: [
    "mutations",
    "clock",
    "starts",
    "damage",
    "simulation",
    "full",
    "kill",
    "syscalls",
    "power",
    "backups",
    "day",
    "planted",
  ],
  soakOnly: ["memory"],
});
