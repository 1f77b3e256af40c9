// The rows of the start-up table about the folder itself, and a first start interrupted anywhere.
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
import { realDisk } from "../../src/platform/disk.ts";
import { encodeLine, genesisHead } from "../../src/store/journal.ts";
import { FolderBusy, isLockedBy, lockFolder } from "../../src/store/lock.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  openLicensedSite,
  openSite,
  catchFolderRefusal,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { MONDAY, register } from "../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../support/temp-folder.ts";

const newFolder = (): string => join(tempFolder(), "data");

/** The folder's lock, as a server or a command, or the checkpoint's, held by another process. */
async function heldByOther(which: "folder" | "command" | "checkpoint", folder: string) {
  const script = join(import.meta.dir, "..", "support", "hold-lock.ts");
  const child = Bun.spawn([process.execPath, script, which, folder], {
    stdin: "pipe",
    stdout: "pipe",
  });
  onTestFinished(() => child.kill("SIGKILL"));
  const { value } = await child.stdout.getReader().read();
  expect(Buffer.from(value ?? []).toString()).toBe("held\n");
  return child;
}

describe("a first start", () => {
  test("makes a folder that starts again as the same", async () => {
    const folder = newFolder();
    const first = await openAndCloseFolder(folder, { kind: "demo" });
    expect(first).toMatchObject({ seq: 1, notes: [], state: { kind: "demo", createdAt: MONDAY } });
    expect(await openAndCloseFolder(folder, { kind: "demo" })).toEqual(first);
  });

  test("makes everything for its owner alone", async () => {
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

  test("has its journal on disk before there is a state to say so", async () => {
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

  test("that is interrupted at any call begins again", async () => {
    let interrupted = 0;
    for (let place = 1; ; place += 1) {
      const folder = newFolder();
      const disk = new FaultyDisk();
      failCallAt(disk, place, "EIO");
      const failed = await openAndCloseFolder(folder, { disk }).then(
        () => false,
        () => true,
      );
      const { state, seq } = await openAndCloseFolder(folder);
      expect({ kind: state.kind, createdAt: state.createdAt, seq }).toEqual({
        kind: "site",
        createdAt: MONDAY,
        seq: 1,
      });
      if (!failed) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(20);
  });

  const created = encodeLine(genesisHead, null, MONDAY, [
    { type: "Created", at: MONDAY, kind: "site", appliance: "" },
  ]);
  const leftovers: Record<string, Record<string, string>> = {
    "an empty journal": { "journal-1.jsonl": "" },
    "a torn journal": { "journal-1.jsonl": created.text.slice(0, 50) },
    "a journal of zeros": { "journal-1.jsonl": "\0".repeat(created.text.length) },
    "a lone Created": { "journal-1.jsonl": created.text },
    "half a new state": { "journal-1.jsonl": created.text, "state.json.new": '{\n"format":2,' },
    "half a new state and no journal": { "state.json.new": "{" },
  };
  for (const [name, files] of Object.entries(leftovers)) {
    test(`that left ${name} behind begins again`, async () => {
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

describe("without leave to create", () => {
  test("a missing folder is refused and not made", async () => {
    const folder = newFolder();
    expect((await catchFolderRefusal(folder, { create: false })).message).toBe(
      `${folder} is not a data folder`,
    );
    expect(existsSync(folder)).toBe(false);
  });

  test("an empty folder is refused and stays as it is", async () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    expect((await catchFolderRefusal(folder, { create: false })).message).toBe(
      `${folder} is not a data folder`,
    );
    expect(readdirSync(folder)).toEqual([]);
    expect(modeOf(folder)).toBe("755");
  });

  test("a folder that is one is opened", async () => {
    const folder = newFolder();
    const made = await openAndCloseFolder(folder);
    expect(await openAndCloseFolder(folder, { create: false })).toEqual(made);
  });
});

describe("a folder that somebody else uses", () => {
  test("is neither filled nor closed", async () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "notes.txt"), "mine");
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${folder} contains other files and is not a data folder`);
    expect(hint).toContain("--data DIR");
    expect(contentsOf(folder)).toEqual(before);
  });

  test("may hold what every new disk or repository does", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, ".gitkeep"), "");
    mkdirSync(join(folder, "lost+found"));
    expect((await openAndCloseFolder(folder)).notes).toEqual([]);
  });

  test("may hold what a machine keeps when its site is taken away", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "access.json"), "");
    mkdirSync(join(folder, "tls"));
    expect((await openAndCloseFolder(folder)).notes).toEqual([]);
  });
});

describe("the kind of a folder", () => {
  for (const [made, wanted, name] of [
    ["demo", "site", "a demo's folder under serve"],
    ["site", "demo", "a site's folder under demo"],
  ] as const) {
    test(`${name} is refused`, async () => {
      const folder = newFolder();
      await openAndCloseFolder(folder, { kind: made });
      const before = contentsOf(folder);
      const { message, hint } = await catchFolderRefusal(folder, { kind: wanted });
      const [maker, asker] = made === "demo" ? ["demo", "serve"] : ["serve", "demo"];
      expect(message).toBe(
        `${folder} was created by berth ${maker} and cannot be used by berth ${asker}`,
      );
      expect(hint).toContain("--data");
      expect(contentsOf(folder)).toEqual(before);
      expect((await openAndCloseFolder(folder, { kind: null })).state.kind).toBe(made);
    });
  }
});

describe("another process", () => {
  test("that holds the folder is named, and keeps it", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await heldByOther("folder", folder);
    const before = contentsOf(folder);
    const busy = await openAndCloseFolder(folder).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(FolderBusy);
    expect(String(busy)).toContain(`${folder} is in use by process ${child.pid} (`);
    expect(String(busy)).toContain("hold-lock.ts");
    expect(contentsOf(folder)).toEqual(before);
    child.kill("SIGKILL");
    await child.exited;
    expect((await openAndCloseFolder(folder)).seq).toBe(1);
  });

  test("is not needed to be busy: a store holds its folder until it is closed", async () => {
    const site = await openSite();
    expect(openAndCloseFolder(site.folder)).rejects.toThrow(
      `is in use by process ${process.pid} (`,
    );
    await site.stop();
    expect((await openAndCloseFolder(site.folder)).seq).toBe(1);
  });

  test("that still makes a checkpoint for a server long gone is ended", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await heldByOther("checkpoint", folder);
    expect((await openAndCloseFolder(folder)).seq).toBe(1);
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("is left alone when all that is left of it is a number in the lock file", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const bystander = Bun.spawn(["cat"], { stdin: "pipe" });
    onTestFinished(() => bystander.kill("SIGKILL"));
    writeFileSync(join(folder, "checkpoint.lock"), String(bystander.pid));
    await openAndCloseFolder(folder);
    expect(await isPending(bystander.exited)).toBe(true);
  });

  test("is not kept out by a start that failed", async () => {
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

describe("a command on a stopped folder", () => {
  for (const holder of ["server", "command"] as const) {
    test(`is waited for by a ${holder}, which then has the folder`, async () => {
      const folder = newFolder();
      await openAndCloseFolder(folder);
      const child = await heldByOther("command", folder);
      const started = openAndCloseFolder(folder, { holder });
      expect(await isPending(started)).toBe(true);
      child.kill("SIGKILL");
      expect((await started).seq).toBe(1);
    });
  }

  test("that does not end is named when nobody waits any longer", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await heldByOther("command", folder);
    const busy = await lockFolder(realDisk, folder, "server", 50).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(FolderBusy);
    const { message, hint } = busy as FolderBusy;
    expect(message).toStartWith(`${folder} is in use by process ${child.pid} (`);
    expect(hint).toBe("try again when that process has ended");
  });

  test("of an older version, which left its pid alone, is not waited for", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const child = await heldByOther("command", folder);
    writeFileSync(join(folder, "lock"), String(child.pid));
    const { message, hint } = (await openAndCloseFolder(folder).catch(
      (error: unknown) => error,
    )) as FolderBusy;
    expect(message).toContain(`is in use by process ${child.pid} (`);
    expect(hint).toBe("stop that process, or specify another folder with --data DIR");
  });

  test("is told from a server by its note, and a server is known by its pid alone", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const path = join(folder, "lock");
    const command = await lockFolder(realDisk, folder, "command");
    expect(readFileSync(path, "utf8")).toBe(`${process.pid} command`);
    expect(isLockedBy(realDisk, folder, process.pid)).toBe(true);
    command.release();
    // Or the next holder would be taken for this process until it has left its own.
    expect(readFileSync(path, "utf8")).toBe("");
    const server = await lockFolder(realDisk, folder, "server");
    expect(readFileSync(path, "utf8")).toBe(String(process.pid));
    expect(isLockedBy(realDisk, folder, process.pid)).toBe(true);
    expect(isLockedBy(realDisk, folder, process.pid + 1)).toBe(false);
    server.release();
  });
});

describe("a folder readable by others", () => {
  test("is closed to them when it is ours, and that is said", async () => {
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

  test("is refused when it is another user's", async () => {
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

  test("is not one that is closed, whoever owns it", async () => {
    const folder = newFolder();
    await openAndCloseFolder(folder);
    const disk = new FaultyDisk();
    disk.mapStat = (_path, stat) => ({ ...stat, uid: 4711 });
    expect((await openAndCloseFolder(folder, { disk, uid: 4712 })).notes).toEqual([]);
  });
});
