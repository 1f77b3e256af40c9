// `bun run test:faults`: every fault rig, or those that are named.
import { runRigs } from "../support/run-rigs.ts";

await runRigs({
  folder: import.meta.dir,
  always: [
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
  onlySoaked: ["memory"],
});
