// The rows of the start-up table about state.json: damaged, missing, newer format.
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { MANIFEST_FILE } from "../../../src/operations/backups/backup-manifest.ts";
import { STATE_FORMAT } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import {
  transactOrThrow,
  openLicensedSite,
  catchFolderRefusal,
  openAndCloseFolder,
  readState,
  type StateDump,
} from "../../support/licensed-store.ts";
import { readArchive, writeArchive } from "../../support/archives.ts";
import {
  backUpFolder,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
  restoreTo,
} from "../../support/backup-site.ts";
import { register } from "../../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

interface KilledSite {
  readonly folder: string;
  readonly path: string;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly state: StateDump;
}

/** A site killed after two checkpoints, with one more line in the journal. */
async function prepareKilledSite(): Promise<KilledSite> {
  const { store, folder } = await openLicensedSite();
  await transactOrThrow(store, register("ada"));
  await store.checkpoint();
  await transactOrThrow(store, register("bob"));
  await store.checkpoint();
  await transactOrThrow(store, register("cem"));
  const state = await readState(store);
  const copy = copyFolder(folder);
  const path = join(copy, "state.json");
  return { folder: copy, path, bytes: readFileSync(path), state };
}

const withChecksum = (content: string): string => `${content}"sum":"${sha256(content)}"\n}\n`;

/** The file with changed content and a matching checksum. */
function editState(bytes: Buffer, edit: (text: string) => string): string {
  const text = bytes.toString();
  const content = text.slice(0, text.lastIndexOf('"sum":"'));
  expect(withChecksum(content)).toBe(text);
  const changed = edit(content);
  expect(changed).not.toBe(content);
  return withChecksum(changed);
}

const withFlippedBit = (bytes: Buffer, offset: number): Buffer => {
  const other = Buffer.from(bytes);
  other[offset] = (other[offset] ?? 0) ^ 1;
  return other;
};

/** Checks that the folder is refused with a command that restores everything. */
async function expectRestorable(folder: string, path: string, state: StateDump): Promise<void> {
  const before = contentsOf(folder);
  const { message, hint } = await catchFolderRefusal(folder);
  expect(message).toStartWith(`${path} `);
  expect(contentsOf(folder)).toEqual(before);
  expect(hint).toStartWith("cp ");
  expect(hint).toContain("nothing is lost");
  expect(runInShell(hint.replace(/ [#(] ?nothing is lost.*$/, ""))).toBe("");
  expect((await openAndCloseFolder(folder)).state).toEqual(state);
}

/** Runs a shell command and returns its error output. */
const runInShell = (command: string): string =>
  Bun.spawnSync(["sh", "-c", command], { stderr: "pipe" }).stderr.toString();

describe("start refuses, with the command that helps, a state.json that is", () => {
  const damages: Record<string, (bytes: Buffer) => string | Uint8Array> = {
    empty: () => "",
    null: () => "null",
    "null with a line feed": () => "null\n",
    "an empty object": () => "{}",
    "all zeros": (bytes) => Buffer.alloc(bytes.length),
    "changed in its first bit": (bytes) => withFlippedBit(bytes, 0),
    "changed in one bit in the middle": (bytes) => withFlippedBit(bytes, bytes.length >> 1),
    "changed in one bit of its checksum": (bytes) => withFlippedBit(bytes, bytes.length - 20),
    "changed in its last bit": (bytes) => withFlippedBit(bytes, bytes.length - 1),
    "truncated by one byte": (bytes) => bytes.subarray(0, bytes.length - 1),
    "truncated to half": (bytes) => bytes.subarray(0, bytes.length >> 1),
    "extended by a line feed": (bytes) => Buffer.concat([bytes, Buffer.from("\n")]),
    "overwritten by a block of zeros": (bytes) => Buffer.from(bytes).fill(0, 300, 400),
  };
  for (const [name, damage] of Object.entries(damages)) {
    test(name, async () => {
      const { folder, path, bytes, state } = await prepareKilledSite();
      writeFileSync(path, damage(bytes));
      await expectRestorable(folder, path, state);
    });
  }

  const edits: Record<string, (text: string) => string> = {
    "no format": (text) => text.replace(`"format":${STATE_FORMAT},\n`, ""),
    "rows that are no array": (text) =>
      text.replace(/"registrations":\[[^\]]*\]/, '"registrations":7'),
    "a row without its user": (text) => text.replace('"user":"ada",', ""),
    "an unknown kind": (text) => text.replace('"kind":"site"', '"kind":"moon"'),
    "a row of a missing license": (text) => text.replace('{"license":1,', '{"license":7,'),
    "no JSON at all": (text) => text.replace("{", "("),
  };
  for (const [name, edit] of Object.entries(edits)) {
    test(`of the wrong shape with a valid checksum: ${name}`, async () => {
      const { folder, path, bytes, state } = await prepareKilledSite();
      writeFileSync(path, editState(bytes, edit));
      await expectRestorable(folder, path, state);
    });
  }
});

describe("command that restores the older state", () => {
  test("is offered before the first checkpoint too", async () => {
    const folder = join(tempFolder(), "data");
    const { state } = await openAndCloseFolder(folder);
    const path = join(folder, "state.json");
    // Overwritten in place, as by a bad disk or a mistake in the shell.
    writeFileSync(path, "");
    await expectRestorable(folder, path, state);
  });

  test("can be run exactly as printed, with its comment", async () => {
    const { folder, path, state } = await prepareKilledSite();
    writeFileSync(path, "");
    expect(runInShell((await catchFolderRefusal(folder)).hint)).toBe("");
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });

  test("is not offered when the older state is damaged, too", async () => {
    const { folder, path } = await prepareKilledSite();
    writeFileSync(path, "");
    writeFileSync(join(folder, "state-3.json"), "");
    const { hint } = await catchFolderRefusal(folder);
    expect(hint).not.toStartWith("cp ");
    expect(hint).toContain("backup");
  });

  test("is not offered when the older state does not match its file name", async () => {
    const { folder, path, bytes } = await prepareKilledSite();
    writeFileSync(path, "");
    writeFileSync(join(folder, "state-3.json"), bytes);
    expect((await catchFolderRefusal(folder)).hint).not.toStartWith("cp ");
  });

  test("is not offered when the journal since the older state is missing", async () => {
    const { folder, path } = await prepareKilledSite();
    writeFileSync(path, "");
    rmSync(join(folder, "journal-4.jsonl"));
    expect((await catchFolderRefusal(folder)).hint).toContain(
      "restore a backup with berth restore FILE",
    );
  });

  test("works in a folder whose name needs shell quoting", async () => {
    const { folder, bytes, state } = await prepareKilledSite();
    const oddFolder = join(tempFolder(), "it's $HOME; a `folder`");
    expect(Bun.spawnSync(["cp", "-a", folder, oddFolder]).exitCode).toBe(0);
    const path = join(oddFolder, "state.json");
    writeFileSync(path, bytes.subarray(9));
    await expectRestorable(oddFolder, path, state);
  });
});

describe("missing state with an existing journal", () => {
  test("is refused with the command that restores the older state", async () => {
    const { folder, path, state } = await prepareKilledSite();
    rmSync(path);
    await expectRestorable(folder, path, state);
  });

  test("is refused when there is no older state", async () => {
    const { folder, path } = await prepareKilledSite();
    rmSync(path);
    rmSync(join(folder, "state-3.json"));
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${path} is missing, but its journal exists`);
    expect(hint).toContain("backup");
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is refused when the first segment has more than the Created event", async () => {
    const { folder } = await openLicensedSite();
    const copy = copyFolder(folder);
    rmSync(join(copy, "state.json"));
    rmSync(join(copy, "state-0.json"));
    const before = contentsOf(copy);
    expect((await catchFolderRefusal(copy)).message).toContain(
      "is missing, but its journal exists",
    );
    expect(contentsOf(copy)).toEqual(before);
  });
});

describe("state of a newer format", () => {
  const newerFormat = STATE_FORMAT + 1;

  test("is refused whatever its contents are, and no older state is offered", async () => {
    const { folder, path, bytes } = await prepareKilledSite();
    const newer = editState(bytes, (text) =>
      text
        .replace(`"format":${STATE_FORMAT}`, `"format":${newerFormat}`)
        .replace('"registrations"', '"seats"'),
    );
    writeFileSync(path, newer);
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(
      `${path} has format ${newerFormat}; this version of berth reads format ${STATE_FORMAT}`,
    );
    expect(hint).toBe("start the version of berth that wrote it, or a newer one");
    expect(contentsOf(folder)).toEqual(before);
    expect(new StateFile(realDisk, folder).read()).rejects.toThrow(`format ${newerFormat}`);
  });

  test("in a backup is not reported as damage", async () => {
    const { folder } = await openSiteWithHistory();
    const files = readArchive(await backUpFolder(folder));
    const { files: fileList, ...rest } = JSON.parse(files.get(MANIFEST_FILE) ?? "") as {
      readonly files: readonly { readonly name: string }[];
    };
    const newer = editState(Buffer.from(files.get("state.json") ?? ""), (text) =>
      text.replace(`"format":${STATE_FORMAT}`, `"format":${newerFormat}`),
    );
    files.set("state.json", newer);
    const newFileList = fileList.map(({ name }) => {
      const bytes = Buffer.from(files.get(name) ?? "");
      return { name, size: bytes.length, sha256: sha256(bytes) };
    });
    files.set(MANIFEST_FILE, JSON.stringify({ ...rest, files: newFileList }));
    const entries = [...files].map(([name, text]) => [name, Buffer.from(text)]);
    const file = writeArchive(Object.fromEntries(entries));
    expect(await catchRefusal(restoreTo(newBackupPath(), file))).toEqual({
      name: "FolderRefused",
      message: `${file}/state.json has format ${newerFormat}; this version of berth reads format ${STATE_FORMAT}`,
      hint: "start the version of berth that wrote it, or a newer one",
    });
  });
});
