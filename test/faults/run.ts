// `bun run test:faults`: runs every fault suite, or those that are named.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: [
    "mutated-documents",
    "clock",
    "concurrent-starts",
    "damage",
    "simulation",
    "disk-full",
    "kill",
    "syscalls",
    "power",
    "backups",
    "storage-growth",
    "planted-bugs",
  ],
  soakOnly: ["memory-growth"],
});
