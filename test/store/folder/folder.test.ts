// The rows of the start-up table about the folder, and a first start interrupted at any call.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { encodeLine, genesisHead } from "../../../src/store/journal/journal.ts";
import { FolderBusy, isLockedBy, lockFolder } from "../../../src/store/folder/lock.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  openLicensedSite,
  openSite,
  catchFolderRefusal,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { MONDAY, register } from "../../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../../support/temp-folder.ts";

const newFolder = (): string => join(tempFolder(), "data");

/** Starts a process that holds the folder's lock, as a server or a command, or the checkpoint's. */
async function lockByOtherProcess(lockKind: "folder" | "command" | "checkpoint", folder: string) {
  const script = join(import.meta.dir, "..", "..", "support", "hold-lock.ts");
  const child = Bun.spawn([process.execPath, script, lockKind, folder], {
    stdin: "pipe",
    stdout: "pipe",
  });
  onTestFinished(() => child.kill("SIGKILL"));
  const { value } = await child.stdout.getReader().read();
  expect(Buffer.from(value ?? []).toString()).toBe("held\n");
  return child;
}

describe("first start", () => {
  test("creates a folder that opens again with the same contents", async () => {
    const folder = newFolder();
    const first = await openAndCloseFolder(folder, { kind: "demo" });
    expect(first).toMatchObject({ seq: 1, notes: [], state: { kind: "demo", createdAt: MONDAY } });
    expect(await openAndCloseFolder(folder, { kind: "demo" })).toEqual(first);
  });

  test("makes all files accessible only to their owner", async () => {
    const { store, folder } = await openLicensedSite();
    await store.checkpoint();
    const modes = Object.entries(contentsOf(folder)).map(([name]) => [
      name,
      modeOf(join(folder, name)),
    ]);
    for (const [name = "", mode] of modes) {
      expect([name, mode]).toEqual([name, name === "." || name === "history" ? "700" : "600"]);
    }
    expect(modes.length).toBeGreaterThan(8);
  });

  test("syncs the journal before it writes the state", async () => {
    const disk = new FaultyDisk();
    const folder = newFolder();
    await openAndCloseFolder(folder, { disk });
    expect(disk.listCalls("write", "sync", "syncFolder", "link", "rename").slice(0, 4)).toEqual([
      `syncFolder ${basename(dirname(folder))}`,
      "write journal-1.jsonl",
      "sync journal-1.jsonl",
      "syncFolder data",
    ]);
    expect(disk.listCalls("rename", "syncFolder").slice(2, 4)).toEqual([
      "rename state.json",
      "syncFolder data",
    ]);
  });

  test("that was interrupted at any disk call is repeated by the next start", async () => {
    let interruptedCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = newFolder();
      const disk = new FaultyDisk();
      failCallAt(disk, callNumber, "EIO");
      const hasFailed = await openAndCloseFolder(folder, { disk }).then(
        () => false,
        () => true,
      );
      const { state, seq } = await openAndCloseFolder(folder);
      expect({ kind: state.kind, createdAt: state.createdAt, seq }).toEqual({
        kind: "site",
        createdAt: MONDAY,
        seq: 1,
      });
      if (!hasFailed) break;
      interruptedCount += 1;
    }
    expect(interruptedCount).toBeGreaterThan(20);
  });

  const created = encodeLine(genesisHead, null, MONDAY, [
    { type: "Created", at: MONDAY, kind: "site", appliance: "" },
  ]);
  const leftovers: Record<string, Record<string, string>> = {
    "an empty journal": { "journal-1.jsonl": "" },
    "a torn journal": { "journal-1.jsonl": created.text.slice(0, 50) },
    "a journal of zeros": { "journal-1.jsonl": "\0".repeat(created.text.length) },
    "a journal with only the Created event": { "journal-1.jsonl": created.text },
    "a journal and half a state file": {
      "journal-1.jsonl": created.text,
      "state.json.new": '{\n"format":2,',
    },
    "half a state file and no journal": { "state.json.new": "{" },
  };
  for (const [name, files] of Object.entries(leftovers)) {
    test(`that left ${name} is repeated by the next start`, async () => {
      const folder = newFolder();
      mkdirSync(folder, { mode: 0o700 });
      for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
      const { seq, notes } = await openAndCloseFolder(folder);
      expect({ seq, notes }).toEqual({ seq: 1, notes: [] });
      const { store } = await openSite({ folder });
      await store.checkpoint();
      expect(existsSync(join(folder, "state.json.new"))).toBe(false);
    });
  }
});

describe("opening a folder without permission to create it", () => {
  test("refuses a missing folder and does not create it", async () => {
    const folder = newFolder();
    expect((await catchFolderRefusal(folder, { create: false })).message).toBe(
      `${folder} is not a data folder`,
    );
    expect(existsSync(folder)).toBe(false);
  });

  test("refuses an empty folder and does not change it", async () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    expect((await catchFolderRefusal(folder, { create: false })).message).toBe(
      `${folder} is not a data folder`,
    );
    expect(readdirSync(folder)).toEqual([]);
    expect(modeOf(folder)).toBe("755");
  });

  test("opens a data folder", async () => {
    const folder = newFolder();
    const contents = await openAndCloseFolder(folder);
    expect(await openAndCloseFolder(folder, { create: false })).toEqual(contents);
  });
});

describe("first start in a folder that is not empty", () => {
  test("refuses other files and changes neither contents nor mode", async () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "notes.txt"), "mine");
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${folder} contains other files and is not a data folder`);
    expect(hint).toContain("--data DIR");
    expect(contentsOf(folder)).toEqual(before);
  });

  test("accepts .gitkeep and lost+found", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, ".gitkeep"), "");
    mkdirSync(join(folder, "lost+found"));
    expect((await openAndCloseFolder(folder)).notes).toEqual([]);
  });

  test("accepts access.json and tls, which stay when a site is moved away", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "access.json"), "");
    mkdirSync(join(folder, "tls"));
    expect((await openAndCloseFolder(folder)).notes).toEqual([]);
  });
});

describe("start", () => {
  for (const [kind, openedAs, name] of [
    ["demo", "site", "a demo folder opened by serve"],
    ["site", "demo", "a site folder opened by demo"],
  ] as const) {
    test(`refuses ${name}`, async () => {
      const folder = newFolder();
      await openAndCloseFolder(folder, { kind });
      const before = contentsOf(folder);
      const { message, hint } = await catchFolderRefusal(folder, { kind: openedAs });
      const [creatingCommand, openingCommand] =
        kind === "demo" ? ["demo", "serve"] : ["serve", "demo"];
      expect(message).toBe(
        `${folder} was created by berth ${creatingCommand} and cannot be used by berth ${openingCommand}`,
      );
      expect(hint).toContain("--data");
      expect(contentsOf(folder)).toEqual(before);
      expect((await openAndCloseFolder(folder, { kind: null })).state.kind).toBe(kind);
    });
  }
});

describe("folder lock", () => {
  test("held by another process refuses a start and names that process", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await lockByOtherProcess("folder", folder);
    const before = contentsOf(folder);
    const error = await openAndCloseFolder(folder).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FolderBusy);
    expect(String(error)).toContain(`${folder} is in use by process ${child.pid} (`);
    expect(String(error)).toContain("hold-lock.ts");
    expect(contentsOf(folder)).toEqual(before);
    child.kill("SIGKILL");
    await child.exited;
    expect((await openAndCloseFolder(folder)).seq).toBe(1);
  });

  test("is held by a store until it is closed, also against its own process", async () => {
    const site = await openSite();
    expect(openAndCloseFolder(site.folder)).rejects.toThrow(
      `is in use by process ${process.pid} (`,
    );
    await site.stop();
    expect((await openAndCloseFolder(site.folder)).seq).toBe(1);
  });

  test("is taken by a start that kills a checkpoint process whose server is gone", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await lockByOtherProcess("checkpoint", folder);
    expect((await openAndCloseFolder(folder)).seq).toBe(1);
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("is taken by a start that does not kill an unrelated pid in checkpoint.lock", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const unrelatedProcess = Bun.spawn(["cat"], { stdin: "pipe" });
    onTestFinished(() => unrelatedProcess.kill("SIGKILL"));
    writeFileSync(join(folder, "checkpoint.lock"), String(unrelatedProcess.pid));
    await openAndCloseFolder(folder);
    expect(await isPending(unrelatedProcess.exited)).toBe(true);
  });

  test("is released by a start that failed", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw makeDiskError("EIO");
    };
    expect(openAndCloseFolder(folder, { disk })).rejects.toThrow("EIO");
    expect((await openAndCloseFolder(folder)).seq).toBe(1);
  });
});

describe("folder lock of a command", () => {
  for (const holder of ["server", "command"] as const) {
    test(`makes a ${holder} wait, which then gets the folder`, async () => {
      const folder = newFolder();
      await openAndCloseFolder(folder);
      const child = await lockByOtherProcess("command", folder);
      const started = openAndCloseFolder(folder, { holder });
      expect(await isPending(started)).toBe(true);
      child.kill("SIGKILL");
      expect((await started).seq).toBe(1);
    });
  }

  test("that does not end is named when the wait times out", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await lockByOtherProcess("command", folder);
    const error = await lockFolder(realDisk, folder, "server", 50).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(FolderBusy);
    const { message, hint } = error as FolderBusy;
    expect(message).toStartWith(`${folder} is in use by process ${child.pid} (`);
    expect(hint).toBe("try again when that process has ended");
  });

  test("of an older version, which wrote only its pid, is not waited for", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await lockByOtherProcess("command", folder);
    writeFileSync(join(folder, "lock"), String(child.pid));
    const { message, hint } = (await openAndCloseFolder(folder).catch(
      (error: unknown) => error,
    )) as FolderBusy;
    expect(message).toContain(`is in use by process ${child.pid} (`);
    expect(hint).toBe("stop that process, or specify another folder with --data DIR");
  });

  test("contains the word command after the pid, and a server's lock only the pid", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const path = join(folder, "lock");
    const command = await lockFolder(realDisk, folder, "command");
    expect(readFileSync(path, "utf8")).toBe(`${process.pid} command`);
    expect(isLockedBy(realDisk, folder, process.pid)).toBe(true);
    command.release();
    // Otherwise the next holder would be taken for this process until it writes its own pid.
    expect(readFileSync(path, "utf8")).toBe("");
    const server = await lockFolder(realDisk, folder, "server");
    expect(readFileSync(path, "utf8")).toBe(String(process.pid));
    expect(isLockedBy(realDisk, folder, process.pid)).toBe(true);
    expect(isLockedBy(realDisk, folder, process.pid + 1)).toBe(false);
    server.release();
  });
});

describe("start in a folder with mode 0755 or of another user", () => {
  test("sets its mode to 0700 and adds a note when we own it", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    const copy = copyFolder(folder);
    chmodSync(copy, 0o755);
    const { state, notes } = await openAndCloseFolder(copy);
    expect(notes).toEqual([
      `${copy} could be read by other users (mode 0755); its mode is now 0700`,
    ]);
    expect(modeOf(copy)).toBe("700");
    expect(state).toEqual(await readState(store));
    expect((await openAndCloseFolder(copy)).notes).toEqual([]);
  });

  test("is refused when another user owns it", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    chmodSync(folder, 0o750);
    const disk = new FaultyDisk();
    disk.mapStat = (path, stat) => (path === folder ? { ...stat, uid: 4711 } : stat);
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder, { disk, uid: 4712 });
    expect(message).toContain("mode 0750");
    expect(message).toContain("uid 4711");
    expect(hint).toContain("chmod 700");
    expect(contentsOf(folder)).toEqual(before);
  });

  test("has no notes when another user owns it and its mode is 0700", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const disk = new FaultyDisk();
    disk.mapStat = (_path, stat) => ({ ...stat, uid: 4711 });
    expect((await openAndCloseFolder(folder, { disk, uid: 4712 })).notes).toEqual([]);
  });
});
