import { expect, test } from "bun:test";
import { join } from "node:path";
import { later } from "../../../src/domain/time.ts";
import {
  backUpFolder,
  openSiteWithKey,
  restoreTo,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactCommand,
  openAndCloseFolder,
  readState,
  type OpenSite,
} from "../../support/licensed-store.ts";
import {
  makeStepCommand,
  randomCommandSteps,
  type CommandStep,
} from "../../support/random-commands.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";
import * as fc from "fast-check";

const runSteps = async (
  { store, clock }: OpenSite,
  steps: readonly CommandStep[],
): Promise<void> => {
  for (const step of steps) {
    clock.now = later(clock.now, step.after);
    const command = store.peek((state) => makeStepCommand(step, state, clock.now));
    // A folder of a pair cannot be restored.
    if (command.type === "AdmitHost" || command.type === "ChangeLeader") continue;
    await transactCommand(store, command);
  }
};

test("restore produces exactly the state of the backup after any sequence of commands", async () => {
  const phase = fc.record({
    steps: randomCommandSteps(12),
    ends: fc.constantFrom("checkpoint", "none"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(phase, { minLength: 1, maxLength: 3 }),
      fc.array(phase, { minLength: 0, maxLength: 2 }),
      fc.boolean(),
      async (before, after, isNewFolder) => {
        const site = await openSiteWithKey();
        for (const { steps, ends } of before) {
          await runSteps(site, steps);
          if (ends === "checkpoint") await site.store.checkpoint();
        }
        const { seq } = site.store.status();
        const state = await readState(site.store);
        const file = await backUpFolder(site.folder);
        for (const { steps, ends } of after) {
          await runSteps(site, steps);
          if (ends === "checkpoint") await site.store.checkpoint();
        }
        const lastSeq = site.store.status().seq;
        const folder = isNewFolder ? join(tempFolder(), "data") : copyFolder(site.folder);
        const { lineage, lostLines } = await restoreTo(folder, file, { acceptLoss: true });
        expect(lostLines).toBe(isNewFolder ? 0 : lastSeq - seq);
        const replaced = isNewFolder ? null : lastSeq;
        const restore = { lineage, at: state.latestEventAt, seq, replaced };
        const contents = await openAndCloseFolder(folder);
        expect(contents).toEqual({
          state: { ...state, restores: [restore] },
          seq: seq + 1,
          notes: [],
        });
        await verifyFolder(folder);
      },
    ),
    { numRuns: 15 },
  );
});
