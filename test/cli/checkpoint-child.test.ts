// The process that makes a checkpoint, when it does not get on: it is ended, the server says so, and
// a stop does not wait for it. The limits are short here; those of the server are minutes.
import { describe, expect, spyOn, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkpointInChild, type ChildLimits } from "../../src/cli/checkpoint-child.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { isRunning } from "../../src/platform/processes.ts";
import { StateFile } from "../../src/store/state-file.ts";
import type { StoreOptions } from "../../src/store/store-options.ts";
import { waitUntil } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  openLicensedSite,
  openSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { PATIENCE } from "../support/patience.ts";
import { register } from "../support/scenario.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

const HOUR = 3_600_000;

const LOOK = 50;

const limits = (silence: () => number, stopping = silence): ChildLimits => ({
  maxSilence: silence,
  maxSilenceWhileStopping: stopping,
  pollInterval: LOOK,
  killTimeout: PATIENCE,
});

const never = (): number => HOUR;

/** Six looks, once the program runs: a busy machine may take a while to start it. */
const sixLooks = (pid: () => number) => (): number => (pid() > 0 ? 6 * LOOK : HOUR);

/** A program that does this instead of a checkpoint, and leaves its pid. */
function program(script: string): { readonly command: string[]; readonly pid: () => number } {
  const note = join(tempFolder(), "pid");
  const words = `echo $$ > '${note}.new' && mv '${note}.new' '${note}'; ${script}`;
  return {
    // Called with: checkpoint FOLDER OPEN KEEP SERVER.
    command: ["/bin/sh", "-c", words, "sh"],
    pid: () => (existsSync(note) ? Number(readFileSync(note, "utf8")) : 0),
  };
}

/**
 * A program that gets on slowly: something is written at every fourth of forty looks, by the test
 * itself, and then it ends. Six looks at nothing new would be too many.
 */
function slowProgram() {
  const [folder, note] = [join(tempFolder(), "data"), join(tempFolder(), "done")];
  const { command } = program(`while [ ! -e '${note}' ]; do sleep 0.05; done; exit 0`);
  let looks = 0;
  const limit = (): number => {
    looks += 1;
    if (looks % 4 === 0) appendFileSync(join(folder, "state.json.new"), "x");
    if (looks === 40) writeFileSync(note, "");
    return 6 * LOOK;
  };
  return { folder, command, limit, looks: () => looks };
}

const STOPS_ITSELF = "kill -STOP $$; exit 0";

const through =
  (command: readonly string[] | undefined, of: ChildLimits): StoreOptions["checkpoint"] =>
  (folder, open, stopping) =>
    checkpointInChild(folder, open, stopping, {
      keepMonths: 0,
      limits: of,
      ...(command && { command }),
    });

const coveredBy = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

describe("the process of a checkpoint", () => {
  test("makes it, as a process of this program", async () => {
    const { store, folder } = await openLicensedSite({
      checkpoint: through(undefined, limits(never)),
    });
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(await coveredBy(folder)).toBe(2);
  });

  test("that fails is told by its last error alone", async () => {
    const { command } = program(
      "echo 'berth: error: no memory' >&2; echo 'berth: hint: more' >&2; exit 1",
    );
    const { store } = await openLicensedSite({ checkpoint: through(command, limits(never)) });
    await store.checkpoint();
    expect(store.health().checkpointError).toBe("no memory");
  });

  test("that cannot even be started is told, and costs nothing", async () => {
    const command = [join(tempFolder(), "absent")];
    const { store, fatalErrors } = await openLicensedSite({
      checkpoint: through(command, limits(never)),
    });
    await store.checkpoint();
    expect(store.health().checkpointError).toContain("ENOENT");
    await transactOrThrow(store, register("ada"));
    expect(fatalErrors).toEqual([]);
  });

  test("that is stopped is ended after its time, and the next one makes up for it", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    let hangs = true;
    const hanging = through(command, limits(sixLooks(pid)));
    const good = through(undefined, limits(never));
    const { store, folder, fatalErrors } = await openLicensedSite({
      checkpoint: (...words) => (hangs ? hanging(...words) : good(...words)),
    });
    await store.checkpoint();
    expect(store.health().checkpointError).toMatch(
      /^the checkpoint process \(\d+\) made no progress for \d+ s and was killed$/,
    );
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    await transactOrThrow(store, register("ada"));
    hangs = false;
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(await coveredBy(folder)).toBe(3);
    expect(fatalErrors).toEqual([]);
  });

  test("that writes a little now and then is never ended", async () => {
    const { folder, command, limit, looks } = slowProgram();
    const { store } = await openLicensedSite({
      folder,
      checkpoint: through(command, limits(limit)),
    });
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(looks()).toBeGreaterThanOrEqual(40);
  });
});

describe("a stop", () => {
  test("ends a checkpoint that hangs, makes no other, and loses nothing", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    const { store, folder, stop } = await openLicensedSite({
      checkpoint: through(command, limits(never, sixLooks(pid))),
    });
    const making = store.checkpoint();
    await waitUntil(() => pid() > 0);
    const hung = pid();
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    await making;
    expect([isRunning(hung), pid()]).toEqual([false, hung]);
    expect(store.health().checkpointError).toContain("made no progress");
    expect(await openAndCloseFolder(folder)).toMatchObject({ state, notes: [] });
  });

  test("does not wait for a last checkpoint that hangs", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    const { store, folder, stop } = await openLicensedSite({
      checkpoint: through(command, limits(never, sixLooks(pid))),
    });
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    expect(store.health().checkpointError).toContain("made no progress");
    const again = await openSite({ folder });
    expect(await readState(again.store)).toEqual(state);
    await again.stop();
    expect(await coveredBy(folder)).toBe(3);
  });

  test("lets a checkpoint that gets on finish", async () => {
    const { folder, command, limit, looks } = slowProgram();
    const { store, stop } = await openLicensedSite({
      folder,
      checkpoint: through(command, limits(never, limit)),
    });
    await transactOrThrow(store, register("ada"));
    await stop();
    expect(store.health().checkpointError).toBeNull();
    expect(looks()).toBeGreaterThanOrEqual(40);
  });
});

describe("a checkpoint that takes longer than expected", () => {
  test("is told by health while it is under way, and no longer", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const since = performance.now();
    const clock = spyOn(performance, "now").mockImplementation(() => since);
    try {
      const { store, folder } = await openLicensedSite({ checkpoint: () => signal });
      const making = store.checkpoint();
      await waitUntil(() => existsSync(join(folder, "journal-3.jsonl")));
      expect(store.condition().warnings).toEqual([]);
      clock.mockImplementation(() => since + 59_000);
      expect(store.condition().warnings).toEqual([]);
      clock.mockImplementation(() => since + 200_000);
      expect(store.condition().warnings).toEqual([
        {
          code: "checkpoint_slow",
          message: expect.stringMatching(/^a checkpoint has been running for 3 minutes/),
        },
      ]);
      finish();
      await making;
      expect(store.condition().warnings).toEqual([]);
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ seq: 2 });
    } finally {
      clock.mockRestore();
    }
  });
});
