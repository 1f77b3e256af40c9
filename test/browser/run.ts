// `bun run test:browser`: every rig that needs a real browser, or those that are named.
import { runSuites } from "../support/run-suites.ts";

await runSuites({
  folder: import.meta.dir,
  everyRun: [
    "page-doors",
    "page-licenses",
    "page-air-gap",
    "page-overview",
    "page-slots",
    "page-record",
    "page-settings",
    "page-clock",
    "page-docs",
    "page-docs-ways",
    "other-sites",
  ],
});
