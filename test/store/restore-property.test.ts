import { expect, test } from "bun:test";
import { join } from "node:path";
import * as fc from "fast-check";
import type { Command } from "../../src/domain/command.ts";
import { later } from "../../src/domain/time.ts";
import { backUpFolder, openSiteWithKey, restoreTo, verifyFolder } from "../support/backup-site.ts";
import {
  transactCommand,
  openAndCloseFolder,
  readState,
  type OpenSite,
} from "../support/licensed-store.ts";
import { makeNextInstall } from "../support/new-site.ts";
import { randomCommandSteps, type CommandStep } from "../support/random-commands.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

/** Licenses come in one after the other, as a vendor would number them. */
const live = async ({ store, clock }: OpenSite, steps: readonly CommandStep[]): Promise<void> => {
  for (const { after, command } of steps) {
    clock.now = later(clock.now, after);
    const wanted = store.peek((state): Command =>
      command.type === "InstallLicense" ? makeNextInstall(state, command) : command,
    );
    await transactCommand(store, wanted);
  }
};

test("a restore gives the state of the backup and nothing else, whatever happened", async () => {
  const chapter = fc.record({
    steps: randomCommandSteps(12),
    ends: fc.constantFrom("fold", "stay"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(chapter, { minLength: 1, maxLength: 3 }),
      fc.array(chapter, { minLength: 0, maxLength: 2 }),
      fc.boolean(),
      async (before, after, elsewhere) => {
        const site = await openSiteWithKey();
        for (const { steps, ends } of before) {
          await live(site, steps);
          if (ends === "fold") await site.store.checkpoint();
        }
        const { seq } = site.store.health();
        const state = await readState(site.store);
        const file = await backUpFolder(site.folder);
        for (const { steps, ends } of after) {
          await live(site, steps);
          if (ends === "fold") await site.store.checkpoint();
        }
        const last = site.store.health().seq;
        const folder = elsewhere ? join(tempFolder(), "data") : copyFolder(site.folder);
        const { lineage, lostLines } = await restoreTo(folder, file, { acceptLoss: true });
        expect(lostLines).toBe(elsewhere ? 0 : last - seq);
        const replaced = elsewhere ? null : last;
        const restore = { lineage, at: state.latestEventAt, seq, replaced };
        const found = await openAndCloseFolder(folder);
        expect(found).toEqual({
          state: { ...state, restores: [restore] },
          seq: seq + 1,
          notes: [],
        });
        await verifyFolder(folder);
      },
    ),
    { numRuns: 60 },
  );
});
