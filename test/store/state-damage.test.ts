// The rows of the start-up table about state.json: damaged, missing, newer.
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { sha256 } from "../../src/platform/hash.ts";
import { MANIFEST_FILE } from "../../src/store/backup.ts";
import { STATE_FORMAT } from "../../src/store/snapshot.ts";
import { StateFile } from "../../src/store/state-file.ts";
import {
  transactOrThrow,
  openLicensedSite,
  catchFolderRefusal,
  openAndCloseFolder,
  readState,
  type StateDump,
} from "../support/licensed-store.ts";
import { readArchive, writeArchive } from "../support/archives.ts";
import {
  backUpFolder,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
  restoreTo,
} from "../support/backup-site.ts";
import { register } from "../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

interface Killed {
  readonly folder: string;
  readonly path: string;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly state: StateDump;
}

/** Two checkpoints made, and more in the journal since. */
async function killed(): Promise<Killed> {
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

const summed = (content: string): string => `${content}"sum":"${sha256(content)}"\n}\n`;

/** The same file with a change to what it says, and the checksum that belongs to it. */
function edited(bytes: Buffer, edit: (text: string) => string): string {
  const text = bytes.toString();
  const content = text.slice(0, text.lastIndexOf('"sum":"'));
  expect(summed(content)).toBe(text);
  const changed = edit(content);
  expect(changed).not.toBe(content);
  return summed(changed);
}

const flipped = (bytes: Buffer, place: number): Buffer => {
  const other = Buffer.from(bytes);
  other[place] = (other[place] ?? 0) ^ 1;
  return other;
};

/** Refused with a command that, when it is run, brings everything back. */
async function comesBack(folder: string, path: string, state: StateDump): Promise<void> {
  const before = contentsOf(folder);
  const { message, hint } = await catchFolderRefusal(folder);
  expect(message).toStartWith(`${path} `);
  expect(contentsOf(folder)).toEqual(before);
  expect(hint).toStartWith("cp ");
  expect(hint).toContain("nothing is lost");
  expect(shell(hint.replace(/ [#(] ?nothing is lost.*$/, ""))).toBe("");
  expect((await openAndCloseFolder(folder)).state).toEqual(state);
}

/** What a shell complains about, if it does. */
const shell = (command: string): string =>
  Bun.spawnSync(["sh", "-c", command], { stderr: "pipe" }).stderr.toString();

describe("a state file that is not what was written is refused with the way back", () => {
  const damages: Record<string, (bytes: Buffer) => string | Uint8Array> = {
    empty: () => "",
    null: () => "null",
    "null and a line feed": () => "null\n",
    "an empty object": () => "{}",
    zeros: (bytes) => Buffer.alloc(bytes.length),
    "its first bit flipped": (bytes) => flipped(bytes, 0),
    "one bit flipped in the middle": (bytes) => flipped(bytes, bytes.length >> 1),
    "one bit flipped in its checksum": (bytes) => flipped(bytes, bytes.length - 20),
    "its last bit flipped": (bytes) => flipped(bytes, bytes.length - 1),
    truncated: (bytes) => bytes.subarray(0, bytes.length - 1),
    "half of it": (bytes) => bytes.subarray(0, bytes.length >> 1),
    "something behind it": (bytes) => Buffer.concat([bytes, Buffer.from("\n")]),
    "a block of zeros inside": (bytes) => Buffer.from(bytes).fill(0, 300, 400),
  };
  for (const [name, damage] of Object.entries(damages)) {
    test(name, async () => {
      const { folder, path, bytes, state } = await killed();
      writeFileSync(path, damage(bytes));
      await comesBack(folder, path, state);
    });
  }

  const edits: Record<string, (text: string) => string> = {
    "no format": (text) => text.replace(`"format":${STATE_FORMAT},\n`, ""),
    "rows that are none": (text) => text.replace(/"registrations":\[[^\]]*\]/, '"registrations":7'),
    "a row without its user": (text) => text.replace('"user":"ada",', ""),
    "a kind nobody knows": (text) => text.replace('"kind":"site"', '"kind":"moon"'),
    "a row of a license that is not there": (text) =>
      text.replace('{"license":1,', '{"license":7,'),
    "no JSON at all": (text) => text.replace("{", "("),
  };
  for (const [name, edit] of Object.entries(edits)) {
    test(`the right checksum over the wrong shape: ${name}`, async () => {
      const { folder, path, bytes, state } = await killed();
      writeFileSync(path, edited(bytes, edit));
      await comesBack(folder, path, state);
    });
  }
});

describe("the way back", () => {
  test("is there before the first checkpoint too", async () => {
    const folder = join(tempFolder(), "data");
    const { state } = await openAndCloseFolder(folder);
    const path = join(folder, "state.json");
    // In place, as a bad disk or a slip of the shell does it.
    writeFileSync(path, "");
    await comesBack(folder, path, state);
  });

  test("can be typed as it is printed, with what it says about itself", async () => {
    const { folder, path, state } = await killed();
    writeFileSync(path, "");
    expect(shell((await catchFolderRefusal(folder)).hint)).toBe("");
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });

  test("leads past a kept generation that is damaged itself", async () => {
    const { folder, path } = await killed();
    writeFileSync(path, "");
    writeFileSync(join(folder, "state-3.json"), "");
    const { hint } = await catchFolderRefusal(folder);
    expect(hint).not.toStartWith("cp ");
    expect(hint).toContain("backup");
  });

  test("does not trust a generation that is not what its name says", async () => {
    const { folder, path, bytes } = await killed();
    writeFileSync(path, "");
    writeFileSync(join(folder, "state-3.json"), bytes);
    expect((await catchFolderRefusal(folder)).hint).not.toStartWith("cp ");
  });

  test("offers nothing that would not start when the journal since is gone", async () => {
    const { folder, path } = await killed();
    writeFileSync(path, "");
    rmSync(join(folder, "journal-4.jsonl"));
    expect((await catchFolderRefusal(folder)).hint).toContain(
      "restore a backup with berth restore FILE",
    );
  });

  test("works in a folder whose name a shell would take apart", async () => {
    const { folder, bytes, state } = await killed();
    const odd = join(tempFolder(), "it's $HOME; a `folder`");
    expect(Bun.spawnSync(["cp", "-a", folder, odd]).exitCode).toBe(0);
    const path = join(odd, "state.json");
    writeFileSync(path, bytes.subarray(9));
    await comesBack(odd, path, state);
  });
});

describe("a state that is missing, but its journal exists", () => {
  test("is refused, with the way back", async () => {
    const { folder, path, state } = await killed();
    rmSync(path);
    await comesBack(folder, path, state);
  });

  test("is refused when no generation was kept either", async () => {
    const { folder, path } = await killed();
    rmSync(path);
    rmSync(join(folder, "state-3.json"));
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${path} is missing, but its journal exists`);
    expect(hint).toContain("backup");
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is refused when there is more than Created in the first segment", async () => {
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

describe("a newer format", () => {
  const newerFormat = STATE_FORMAT + 1;

  test("is refused, whatever else the file holds, and no old generation is offered", async () => {
    const { folder, path, bytes } = await killed();
    const newer = edited(bytes, (text) =>
      text
        .replace(`"format":${STATE_FORMAT}`, `"format":${newerFormat}`)
        .replace('"registrations"', '"seats"'),
    );
    writeFileSync(path, newer);
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(
      `${path} has format ${newerFormat}; this version of berth reads formats 2 to ${STATE_FORMAT}`,
    );
    expect(hint).toBe("start the version of berth that wrote it, or a newer one");
    expect(contentsOf(folder)).toEqual(before);
    expect(new StateFile(realDisk, folder).read()).rejects.toThrow(`format ${newerFormat}`);
  });

  test("in a backup is no damage either", async () => {
    const { folder } = await openSiteWithHistory();
    const files = readArchive(await backUpFolder(folder));
    const { files: listed, ...rest } = JSON.parse(files.get(MANIFEST_FILE) ?? "") as {
      readonly files: readonly { readonly name: string }[];
    };
    const newer = edited(Buffer.from(files.get("state.json") ?? ""), (text) =>
      text.replace(`"format":${STATE_FORMAT}`, `"format":${newerFormat}`),
    );
    files.set("state.json", newer);
    const relisted = listed.map(({ name }) => {
      const bytes = Buffer.from(files.get(name) ?? "");
      return { name, size: bytes.length, sha256: sha256(bytes) };
    });
    files.set(MANIFEST_FILE, JSON.stringify({ ...rest, files: relisted }));
    const entries = [...files].map(([name, text]) => [name, Buffer.from(text)]);
    const file = writeArchive(Object.fromEntries(entries));
    expect(await catchRefusal(restoreTo(newBackupPath(), file))).toEqual({
      name: "BackupRefused",
      message: `${file}/state.json has format ${newerFormat}; this version of berth reads formats 2 to ${STATE_FORMAT}`,
      hint: "start the version of berth that wrote it, or a newer one",
    });
  });
});
