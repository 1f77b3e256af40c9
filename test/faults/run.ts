// `bun run test:faults`: runs every fault suite, or only the suites named as arguments.
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
