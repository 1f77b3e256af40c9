// `bun run test:browser`: runs every suite that needs a real browser, or those that are named, in one
// process with one browser.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  isOneProcess: true,
  everyRun: [
    "walk",
    "page-sign-in",
    "page-licenses",
    "page-requests",
    "page-air-gap",
    "page-overview",
    "page-reports",
    "page-health",
    "page-connection",
    "page-pair",
    "page-slots",
    "page-queue",
    "page-rules",
    "page-audit-log",
    "page-settings",
    "page-backups",
    "page-clock",
    "page-layout",
    "page-tasks",
    "page-hostile-texts",
    "page-docs",
    "page-docs-access",
    "other-sites",
  ],
});
