// `bun run test:browser`: every rig that needs a real browser, or those that are named.
import { runRigs } from "../support/run-rigs.ts";

await runRigs({
  folder: import.meta.dir,
  always: [
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
