// A damaged audit log is not damaged license state: backups, restores and checkpoints go on.
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { careSite, verified } from "../support/care.ts";
import { done } from "../support/licensed-store.ts";
import { live } from "../support/months.ts";
import { consume } from "../support/scenario.ts";
import { copyOf } from "../support/temp-folder.ts";

const MAY = "history/2026-05.jsonl";

describe("a checkpoint that finds the newest audit file too short", () => {
  for (const [what, damage] of Object.entries<(path: string) => void>({
    "cut in the middle of its last line": (path) =>
      truncateSync(path, readFileSync(path).length - 9),
    "without its last line": (path) =>
      truncateSync(path, readFileSync(path).lastIndexOf(10, readFileSync(path).length - 2) + 1),
    empty: (path) => truncateSync(path),
    gone: (path) => rmSync(path),
  })) {
    test(`writes again what the kept journal has, when it is ${what}`, async () => {
      const site = await careSite();
      await live(site, "03", "05");
      const before = readFileSync(join(site.folder, MAY));
      damage(join(site.folder, MAY));
      await done(site.store, consume(3));
      await site.store.checkpoint();
      expect(site.store.health().checkpointError).toBeNull();
      const after = readFileSync(join(site.folder, MAY));
      expect(after.subarray(0, before.length)).toEqual(before);
      await verified(copyOf(site.folder));
    });
  }
});
