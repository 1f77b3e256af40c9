// A checkpoint process that makes no progress is killed, the server reports it, and a stop does not
// wait for it. The limits are short here; those of the server are minutes.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { appendFileSync, rmSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkpointInChild, type ChildLimits } from "../../../src/cli/serve/checkpoint-child.ts";
import { selfCommand } from "../../../src/platform/embedded/version.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { isRunning } from "../../../src/platform/system/processes.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import type { StoreOptions } from "../../../src/store/store-options.ts";
import {
  transactOrThrow,
  openLicensedSite,
  openSite,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { PATIENCE } from "../../support/patience.ts";
import { holdProcessClock } from "../../support/process-clock.ts";
import { install, register } from "../../support/scenario.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const HOUR = 3_600_000;
const MIB = 1024 * 1024;

const POLL_INTERVAL = 50;

const limits = (silence: () => number, stopping = silence): ChildLimits => ({
  maxSilence: silence,
  maxSilenceWhileStopping: stopping,
  pollInterval: POLL_INTERVAL,
  killTimeout: PATIENCE,
});

const oneHour = (): number => HOUR;

/** Six polls, counted only once the program runs: a busy machine may start it late. */
const sixPolls = (pid: () => number) => (): number => (pid() > 0 ? 6 * POLL_INTERVAL : HOUR);

/** A program that runs this script instead of a checkpoint, and writes its pid to a file. */
function fakeCheckpoint(script: string): {
  readonly command: string[];
  readonly pid: () => number;
} {
  const pidFile = join(tempFolder(), "pid");
  const command = `echo $$ > '${pidFile}.new' && mv '${pidFile}.new' '${pidFile}'; ${script}`;
  return {
    // Called with: checkpoint FOLDER OPEN KEEP SERVER.
    command: ["/bin/sh", "-c", command, "sh"],
    pid: () => (existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0),
  };
}

/**
 * A program that makes slow progress: at every fourth of forty polls the test writes something,
 * and then the program ends. Six polls without progress would exceed the limit.
 */
function slowCheckpoint() {
  const [folder, doneFile] = [join(tempFolder(), "data"), join(tempFolder(), "done")];
  const { command } = fakeCheckpoint(`while [ ! -e '${doneFile}' ]; do sleep 0.05; done; exit 0`);
  let polls = 0;
  const limit = (): number => {
    polls += 1;
    if (polls % 4 === 0) appendFileSync(join(folder, "state.json.new"), "x");
    if (polls === 40) writeFileSync(doneFile, "");
    return 6 * POLL_INTERVAL;
  };
  return { folder, command, limit, polls: () => polls };
}

/** The command of this program in Bun, which writes its priority to a file when it ends. */
function withPriorityAtExit([bun = "", ...args]: readonly string[]) {
  const [script, file] = [join(tempFolder(), "preload.js"), join(tempFolder(), "priority")];
  const write = `require("node:fs").writeFileSync("${file}", `;
  const code = `process.on("exit", () => ${write}String(require("node:os").getPriority())));`;
  writeFileSync(script, code);
  return {
    command: [bun, "--preload", script, ...args],
    priority: () => Number(readFileSync(file, "utf8")),
  };
}

const STOPS_ITSELF = "kill -STOP $$; exit 0";

const checkpointWith =
  (command: readonly string[] | undefined, childLimits: ChildLimits): StoreOptions["checkpoint"] =>
  (folder, open, stopping) =>
    checkpointInChild(folder, open, stopping, {
      keepMonths: 0,
      usageMonths: 18,
      limits: childLimits,
      ...(command && { command }),
    });

const coveredSeq = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

describe("checkpointInChild", () => {
  test("writes the checkpoint in a process of this program, with low priority", async () => {
    const { command, priority } = withPriorityAtExit(selfCommand());
    const { store, folder } = await openLicensedSite({
      checkpoint: checkpointWith(command, limits(oneHour)),
    });
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    expect(await coveredSeq(folder)).toBe(2);
    expect(priority()).toBe(10);
  });

  test("reports usage files that could not be updated, until they are", async () => {
    const errors: (string | null)[] = [];
    const { store, folder } = await openLicensedSite({
      checkpoint: (path, open, stopping) =>
        checkpointInChild(path, open, stopping, {
          keepMonths: 0,
          usageMonths: 18,
          onUsageUpdate: (error) => errors.push(error),
        }),
    });
    // A file in the place of the folder.
    writeFileSync(join(folder, "usage"), "");
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    rmSync(join(folder, "usage"));
    await store.checkpoint();
    expect(errors).toEqual([expect.stringContaining("ENOTDIR"), null]);
  });

  test("reports only the message of a process that fails", async () => {
    const { command } = fakeCheckpoint(
      `echo 'berth: error: other' >&2; echo '${JSON.stringify({ code: "failed", message: "no memory", hint: "more" })}'; exit 1`,
    );
    const { store } = await openLicensedSite({
      checkpoint: checkpointWith(command, limits(oneHour)),
    });
    await store.checkpoint();
    expect(store.status().checkpointError).toBe("no memory");
  });

  test("reports a process that cannot be started, and the store keeps working", async () => {
    const command = [join(tempFolder(), "absent")];
    const { store, fatalErrors } = await openLicensedSite({
      checkpoint: checkpointWith(command, limits(oneHour)),
    });
    await store.checkpoint();
    expect(store.status().checkpointError).toContain("ENOENT");
    await transactOrThrow(store, register("ada"));
    expect(fatalErrors).toEqual([]);
  });

  test("kills a stopped process after the limit, and the next checkpoint succeeds", async () => {
    const { command, pid } = fakeCheckpoint(STOPS_ITSELF);
    let hangs = true;
    const hanging = checkpointWith(command, limits(sixPolls(pid)));
    const good = checkpointWith(undefined, limits(oneHour));
    const { store, folder, fatalErrors } = await openLicensedSite({
      checkpoint: (...words) => (hangs ? hanging(...words) : good(...words)),
    });
    await store.checkpoint();
    expect(store.status().checkpointError).toMatch(
      /^the checkpoint process \(\d+\) made no progress for \d+ s and was killed$/,
    );
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    await transactOrThrow(store, register("ada"));
    hangs = false;
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    expect(await coveredSeq(folder)).toBe(3);
    expect(fatalErrors).toEqual([]);
  });

  test("does not kill a process that makes slow progress", async () => {
    const { folder, command, limit, polls } = slowCheckpoint();
    const { store } = await openLicensedSite({
      folder,
      checkpoint: checkpointWith(command, limits(limit)),
    });
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    expect(polls()).toBeGreaterThanOrEqual(40);
  });
});

describe("stopping the store", () => {
  test("kills a checkpoint that hangs, starts no other, and loses no data", async () => {
    const { command, pid } = fakeCheckpoint(STOPS_ITSELF);
    const { store, folder, stop } = await openLicensedSite({
      checkpoint: checkpointWith(command, limits(oneHour, sixPolls(pid))),
    });
    const checkpointing = store.checkpoint();
    await waitUntil(() => pid() > 0);
    const hungPid = pid();
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    await checkpointing;
    expect([isRunning(hungPid), pid()]).toEqual([false, hungPid]);
    expect(store.status().checkpointError).toContain("made no progress");
    expect(await openAndCloseFolder(folder)).toMatchObject({ state, notes: [] });
  });

  test("does not wait for a final checkpoint that hangs", async () => {
    const { command, pid } = fakeCheckpoint(STOPS_ITSELF);
    const { store, folder, stop } = await openLicensedSite({
      checkpoint: checkpointWith(command, limits(oneHour, sixPolls(pid))),
    });
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    expect([pid() > 0, isRunning(pid())]).toEqual([true, false]);
    expect(store.status().checkpointError).toContain("made no progress");
    const again = await openSite({ folder });
    expect(await readState(again.store)).toEqual(state);
    await again.stop();
    expect(await coveredSeq(folder)).toBe(3);
  });

  test("lets a checkpoint that makes progress finish", async () => {
    const { folder, command, limit, polls } = slowCheckpoint();
    const { store, stop } = await openLicensedSite({
      folder,
      checkpoint: checkpointWith(command, limits(oneHour, limit)),
    });
    await transactOrThrow(store, register("ada"));
    await stop();
    expect(store.status().checkpointError).toBeNull();
    expect(polls()).toBeGreaterThanOrEqual(40);
  });
});

describe("a process that writes nothing", () => {
  /** How often progress was noted at the last twenty of thirty polls; then it is killed. */
  async function countProgress(script: string): Promise<number> {
    const { command, pid } = fakeCheckpoint(script);
    let [polls, noted, notedBefore] = [0, 0, 0];
    const limit = (): number => {
      if (pid() > 0) polls += 1;
      if (polls === 10) notedBefore = noted;
      return polls > 30 ? 0 : HOUR;
    };
    const stopping = new AbortController().signal;
    const checkpointing = checkpointInChild(tempFolder(), 1, stopping, {
      keepMonths: 0,
      usageMonths: 18,
      limits: limits(limit),
      command,
      noteProgress: () => (noted += 1),
    });
    expect(checkpointing).rejects.toThrow("made no progress");
    await checkpointing.catch(() => {});
    return noted - notedBefore;
  }

  test("makes progress as long as it computes", async () => {
    expect(await countProgress("while :; do :; done")).toBeGreaterThan(0);
  });

  test("makes none when it stands still", async () => {
    expect(await countProgress(STOPS_ITSELF)).toBe(0);
  });
});

test("a checkpoint that stands still is a warning after a minute, however much the journal grows", async () => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  onTestFinished(() => finish());
  let noteProgress = (): void => {};
  const clock = holdProcessClock();
  const { store } = await openLicensedSite({
    checkpoint(_folder, _open, _stopping, note) {
      noteProgress = note;
      return finished;
    },
  });
  const messages = (): string[] => store.health().warnings.map(({ message }) => message);
  const running = [expect.stringMatching(/^a checkpoint has been running for 1 minutes/)];
  const checkpointing = store.checkpoint();
  await transactOrThrow(store, install(2, { metadata: "x".repeat(2 * MIB) }));
  clock.ms += 50_000;
  noteProgress();
  expect(messages()).toEqual([]);
  // What the open segment has got since counts for no time.
  clock.ms += 11_000;
  expect(messages()).toEqual(running);
  clock.ms += 49_000;
  expect(messages()).toEqual(running);
  clock.ms += 1;
  expect(messages()).toEqual([
    expect.stringMatching(/^a checkpoint has made no progress for more than a minute/),
  ]);
  noteProgress();
  expect(messages()).toEqual(running);
  finish();
  await checkpointing;
  expect(messages()).toEqual([]);
});

describe("a slow checkpoint", () => {
  test("is a warning while it runs, and no longer afterwards", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const since = performance.now();
    const clock = spyOn(performance, "now").mockImplementation(() => since);
    try {
      let noteProgress = (): void => {};
      const { store, folder } = await openLicensedSite({
        checkpoint(_folder, _open, _stopping, note) {
          noteProgress = note;
          return signal;
        },
      });
      // A sync that runs when the clock is set would seem to be slow.
      const checkpointWarnings = () =>
        store.health().warnings.filter(({ code }) => code !== "disk_slow");
      const checkpointing = store.checkpoint();
      await waitUntil(() => existsSync(join(folder, "journal-3.jsonl")));
      expect(checkpointWarnings()).toEqual([]);
      clock.mockImplementation(() => since + 59_000);
      expect(checkpointWarnings()).toEqual([]);
      clock.mockImplementation(() => since + 200_000);
      noteProgress();
      expect(checkpointWarnings()).toEqual([
        {
          code: "checkpoint_slow",
          message: expect.stringMatching(/^a checkpoint has been running for 3 minutes/),
        },
      ]);
      finish();
      await checkpointing;
      expect(checkpointWarnings()).toEqual([]);
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ seq: 2 });
    } finally {
      finish();
      clock.mockRestore();
    }
  });
});
