// `bun run test:pair`: tests a pair of hosts with real PostgreSQL servers.
import { initializeTemplate } from "./postgres-cluster.ts";
import { installPostgres } from "./postgres-programs.ts";
import { runSuites } from "../support/run-suites.ts";

installPostgres();
initializeTemplate();
await runSuites({
  folder: import.meta.dir,
  everyRun: [
    "postgres-log",
    "log-setup",
    "log-connection",
    "database-standby",
    "careless-promotion",
    "password-secrecy",
    "shared-files",
    "database-loss",
    "partition",
    "faults",
    "kill",
    "membership",
    "licenses",
    "insight",
    "clients",
  ],
});
