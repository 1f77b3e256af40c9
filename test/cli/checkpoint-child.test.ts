// The process that makes a checkpoint, when it does not get on: it is ended, the server says so, and
// a stop does not wait for it. The limits are short here; those of the server are minutes.
import { describe, expect, spyOn, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkpointInChild, type ChildLimits } from "../../src/cli/checkpoint-child.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { isRunning } from "../../src/platform/processes.ts";
import { StateFile } from "../../src/store/state-file.ts";
import type { StoreOptions } from "../../src/store/store-options.ts";
import { until } from "../support/faulty-disk.ts";
import { done, licensedSite, openSite, startIn, stateOf } from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { copyOf, tempFolder } from "../support/temp-folder.ts";

const HOUR = 3_600_000;

const limits = (silence: number, stopping = silence): ChildLimits => ({
  silence: () => silence,
  stopping: () => stopping,
  look: 50,
  ending: 5_000,
});

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
    const { store, folder } = await licensedSite({ checkpoint: through(undefined, limits(HOUR)) });
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(await coveredBy(folder)).toBe(2);
  });

  test("that fails is told by its last error alone", async () => {
    const { command } = program(
      "echo 'berth: error: no memory' >&2; echo 'berth: hint: more' >&2; exit 1",
    );
    const { store } = await licensedSite({ checkpoint: through(command, limits(HOUR)) });
    await store.checkpoint();
    expect(store.health().checkpointError).toBe("no memory");
  });

  test("that cannot even be started is told, and costs nothing", async () => {
    const command = [join(tempFolder(), "absent")];
    const { store, fatal } = await licensedSite({ checkpoint: through(command, limits(HOUR)) });
    await store.checkpoint();
    expect(store.health().checkpointError).toContain("ENOENT");
    await done(store, register("ada"));
    expect(fatal).toEqual([]);
  });

  test("that is stopped is ended after its time, and the next one makes up for it", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    let hangs = true;
    const [hanging, good] = [through(command, limits(300)), through(undefined, limits(HOUR))];
    const { store, folder, fatal } = await licensedSite({
      checkpoint: (...words) => (hangs ? hanging(...words) : good(...words)),
    });
    await store.checkpoint();
    expect(store.health().checkpointError).toMatch(
      /^the process of the checkpoint \(\d+\) made no progress for \d+ s, and was ended$/,
    );
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    await done(store, register("ada"));
    hangs = false;
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(await coveredBy(folder)).toBe(3);
    expect(fatal).toEqual([]);
  });

  test("that writes a little now and then is never ended", async () => {
    const slow =
      'for n in 1 2 3 4 5 6 7; do sleep 1; printf x >> "$2/state.json.new"; done; exit 0';
    const { command } = program(slow);
    const { store } = await licensedSite({ checkpoint: through(command, limits(5_000)) });
    const since = performance.now();
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(performance.now() - since).toBeGreaterThan(6_000);
  });
});

describe("a stop", () => {
  test("ends a checkpoint that hangs, makes no other, and loses nothing", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    const { store, folder, stop } = await licensedSite({
      checkpoint: through(command, limits(HOUR, 300)),
    });
    const making = store.checkpoint();
    await until(() => pid() > 0);
    const hung = pid();
    await done(store, register("ada"));
    const state = await stateOf(store);
    await stop();
    await making;
    expect([isRunning(hung), pid()]).toEqual([false, hung]);
    expect(store.health().checkpointError).toContain("made no progress");
    expect(await startIn(folder)).toMatchObject({ state, notes: [] });
  });

  test("does not wait for a last checkpoint that hangs", async () => {
    const { command, pid } = program(STOPS_ITSELF);
    const { store, folder, stop } = await licensedSite({
      checkpoint: through(command, limits(HOUR, 300)),
    });
    await done(store, register("ada"));
    const state = await stateOf(store);
    await stop();
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    expect(store.health().checkpointError).toContain("made no progress");
    const again = await openSite({ folder });
    expect(await stateOf(again.store)).toEqual(state);
    await again.stop();
    expect(await coveredBy(folder)).toBe(3);
  });

  test("lets a checkpoint that gets on finish", async () => {
    const slow = 'for n in 1 2 3; do sleep 1; printf x >> "$2/state.json.new"; done; exit 0';
    const { command } = program(slow);
    const { store, stop } = await licensedSite({
      checkpoint: through(command, limits(HOUR, 10_000)),
    });
    await done(store, register("ada"));
    await stop();
    expect(store.health().checkpointError).toBeNull();
  });
});

describe("a checkpoint that takes longer than expected", () => {
  test("is told by health while it is under way, and no longer", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const { store, folder } = await licensedSite({ checkpoint: () => signal });
    const clock = spyOn(performance, "now");
    try {
      const since = performance.now();
      const making = store.checkpoint();
      await until(() => existsSync(join(folder, "journal-3.jsonl")));
      expect(store.condition().troubles).toEqual([]);
      clock.mockImplementation(() => since + 59_000);
      expect(store.condition().troubles).toEqual([]);
      clock.mockImplementation(() => since + 200_000);
      expect(store.condition().troubles).toEqual([
        {
          code: "checkpoint_slow",
          message: expect.stringMatching(/^a checkpoint has been under way for 3 minutes/),
        },
      ]);
      finish();
      await making;
      expect(store.condition().troubles).toEqual([]);
      expect(await startIn(copyOf(folder))).toMatchObject({ seq: 2 });
    } finally {
      clock.mockRestore();
    }
  });
});
