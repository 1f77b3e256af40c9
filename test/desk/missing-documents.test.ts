// A desk's folder without one of its trust documents: a vendor moves the file that it hands out.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { GENESIS, sha256 } from "../../src/platform/hash.ts";
import { Desk } from "../../src/desk/desk.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface Made {
  readonly folder: string;
  readonly first: Desk;
  readonly last: Desk;
}

/** A desk whose key was followed by this many others. */
async function deskWithSuccessors(successors: number): Promise<Made> {
  const folder = join(tempFolder(), "desk");
  const named = { name: "Acme", products: ["CAD"], passphrase: null };
  const first = await Desk.create(realDisk, folder, named);
  let last = first;
  for (let number = 0; number < successors; number += 1) {
    last = await last.rotateKey(realDisk, folder, null);
  }
  return { folder, first, last };
}

/** Every key file by its name, with the private part of the key in it. */
const keyFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith("vendor.jwk"))
      .map((name) => {
        const { d } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { d: string };
        return [name, d];
      }),
  );

const move = (folder: string, name: string): string => {
  const away = join(tempFolder(), name);
  renameSync(join(folder, name), away);
  return away;
};

/** The ledger as a version wrote it that did not keep the documents in it. */
function dropDocumentsFromLedger(folder: string): void {
  const path = join(folder, "ledger.jsonl");
  let prev = GENESIS;
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const { document: _, ...entry } = JSON.parse(line) as { type: string; document?: string };
      const text = JSON.stringify({ ...entry, prev });
      prev = sha256(text);
      return `${text}\n`;
    });
  writeFileSync(path, lines.join(""));
  rmSync(join(folder, "ledger.head"), { force: true });
}

const READING = [["show"], ["list"], ["verify"]];
const policy = (folder: string) =>
  runBerth(["vendor", "policy", "--dir", folder, "--policy-id", "p", "--product", "CAD"]);

describe.each([1, 3])("a desk with %d successors whose newest document was moved away", (many) => {
  const newest = `successor-${many + 1}.jwt`;

  test("keeps every key file in every command that reads", async () => {
    const { folder } = await deskWithSuccessors(many);
    move(folder, newest);
    const before = keyFiles(folder);
    expect(Object.keys(before)).toHaveLength(many + 1);
    for (const command of READING) {
      const said = await runBerth(["vendor", ...command, "--dir", folder]);
      expect([command, said.stderr]).toEqual([
        command,
        expect.stringContaining(`${newest} is missing`),
      ]);
      expect([command, keyFiles(folder)]).toEqual([command, before]);
    }
    expect(existsSync(join(folder, newest))).toBe(false);
  });

  test("writes the document again before it signs, and signs with its current key", async () => {
    const { folder, last } = await deskWithSuccessors(many);
    const away = move(folder, newest);
    const before = keyFiles(folder);
    const said = await policy(folder);
    expect([said.code, said.stderr]).toEqual([0, expect.stringContaining(newest)]);
    expect(readFileSync(join(folder, newest), "utf8")).toBe(readFileSync(away, "utf8"));
    expect(keyFiles(folder)).toEqual(before);
    const opened = await Desk.open(realDisk, folder, null);
    expect([opened.key, opened.vendor]).toEqual([last.key, last.vendor]);
    await runOrThrow(["vendor", "verify", "--dir", folder]);
  });

  test("signs nothing where the ledger does not hold the document, until it is back", async () => {
    const { folder, last } = await deskWithSuccessors(many);
    dropDocumentsFromLedger(folder);
    const away = move(folder, newest);
    const before = keyFiles(folder);
    const hint = `${newest} is missing`;
    for (const command of READING) {
      const { stderr } = await runBerth(["vendor", ...command, "--dir", folder]);
      expect([command, stderr]).toEqual([command, expect.stringContaining(hint)]);
    }
    const refused = await policy(folder);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(hint)]);
    expect(refused.stderr).toContain("copy it back from the folder it was moved to");
    expect(keyFiles(folder)).toEqual(before);
    renameSync(away, join(folder, newest));
    expect((await policy(folder)).code).toBe(0);
    await runOrThrow(["vendor", "verify", "--dir", folder]);
    expect((await Desk.open(realDisk, folder, null)).key).toEqual(last.key);
  });

  test("signs nothing with an older key where the ledger is of a version without such lines", async () => {
    const { folder } = await deskWithSuccessors(many);
    writeFileSync(join(folder, "ledger.jsonl"), "");
    rmSync(join(folder, "ledger.head"), { force: true });
    move(folder, newest);
    const before = keyFiles(folder);
    const refused = await policy(folder);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("is not in its trust document"),
    ]);
    expect(keyFiles(folder)).toEqual(before);
  });
});

test("a desk with an earlier trust.jwt put back over one with more products is noticed and mended", async () => {
  const { folder, first } = await deskWithSuccessors(0);
  const trust = join(folder, "trust.jwt");
  const old = readFileSync(trust, "utf8");
  const wider = await first.addProducts(realDisk, folder, ["CAM"]);
  const newer = readFileSync(trust, "utf8");
  writeFileSync(trust, old);
  const verified = await runBerth(["vendor", "verify", "--dir", folder]);
  expect([verified.code, verified.stderr]).toEqual([
    1,
    expect.stringContaining("trust.jwt is older than in the ledger"),
  ]);
  expect((await Desk.open(realDisk, folder, null)).vendor).toEqual(wider.vendor);
  expect(readFileSync(trust, "utf8")).toBe(newer);
});

test("a desk whose key file is an earlier key, not retired, signs nothing", async () => {
  const { folder, first } = await deskWithSuccessors(1);
  renameSync(join(folder, `${keyIdOf(first.key)}.vendor.jwk`), join(folder, "vendor.jwk"));
  const refused = await policy(folder);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("is not the current one"),
  ]);
});

test("a desk whose newest document names another key than the ledger does signs nothing", async () => {
  const { folder, first } = await deskWithSuccessors(0);
  const copy = join(tempFolder(), "desk");
  realDisk.makeFolder(copy);
  for (const name of ["trust.jwt", "vendor.jwk", "ledger.jsonl"]) {
    writeFileSync(join(copy, name), readFileSync(join(folder, name)));
  }
  await first.rotateKey(realDisk, folder, null);
  const other = await Desk.open(realDisk, copy, null);
  await other.rotateKey(realDisk, copy, null);
  for (const name of ["successor-2.jwt", "vendor.jwk"]) {
    writeFileSync(join(folder, name), readFileSync(join(copy, name)));
  }
  const refused = await policy(folder);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("has another current key than the ledger"),
  ]);
  expect((await runBerth(["vendor", "verify", "--dir", folder])).code).toBe(1);
});

test("a folder with a key and without trust.jwt is not told to make a new desk", async () => {
  const { folder } = await deskWithSuccessors(0);
  move(folder, "trust.jwt");
  for (const command of ["show", "verify", "product add X"]) {
    const said = await runBerth(["vendor", ...command.split(" "), "--dir", folder]);
    expect([command, said.code]).toEqual([command, 1]);
    expect(said.stderr).toContain("trust.jwt is missing");
    expect(said.stderr).toContain("from a backup");
    expect(said.stderr).not.toContain("vendor init");
  }
});
