// `bun run test:pair`: tests a pair of hosts with real PostgreSQL servers.
import { initializeTemplate } from "./postgres-cluster.ts";
import { installPostgres } from "./postgres-programs.ts";
import { runSuites } from "../support/run-suites.ts";

installPostgres();
initializeTemplate();
await runSuites({
  folder: import.meta.dir,
  // They mostly wait for the ends of terms. The longest one starts first.
  parallel: 3,
  everyRun: [
    "kill",
    "clients",
    "faults",
    "shared-files",
    "database-loss",
    "database-refusal",
    "guide",
    "partition",
    "membership",
    "database-standby",
    "log-connection",
    "log-setup",
    "postgres-log",
    "password-secrecy",
    "insight",
    "careless-promotion",
    "licenses",
  ],
});
