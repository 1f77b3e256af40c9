// A desk's folder without one of its trust documents, for example because the vendor moved the file
// instead of copying it.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface DeskHistory {
  readonly folder: string;
  readonly first: Desk;
  readonly last: Desk;
}

/** A desk with this many key rotations. */
async function deskWithSuccessors(successors: number): Promise<DeskHistory> {
  const folder = join(tempFolder(), "desk");
  const options = { name: "Acme", products: ["CAD"], passphrase: null };
  const first = await Desk.create(realDisk, folder, options);
  let last = first;
  for (let number = 0; number < successors; number += 1) {
    last = await last.rotateKey(realDisk, folder, null);
  }
  return { folder, first, last };
}

/** The private part of the key in each key file, by file name. */
const keyFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith("vendor.jwk"))
      .map((name) => {
        const { d } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { d: string };
        return [name, d];
      }),
  );

const moveAway = (folder: string, name: string): string => {
  const path = join(tempFolder(), name);
  renameSync(join(folder, name), path);
  return path;
};

/** The ledger lines are lost, and the desk goes on without them. */
function loseLedgerLines(folder: string): void {
  writeFileSync(join(folder, "ledger.jsonl"), "");
  writeFileSync(join(folder, "ledger.head"), "");
}

const READING_COMMANDS = [["show"], ["list"], ["verify"]];
const signPolicy = (folder: string) =>
  runBerth(["vendor", "policy", "--dir", folder, "--policy-id", "p", "--product", "CAD"]);

describe.each([1, 3])("a desk with %d successors and without its newest document", (count) => {
  const newest = `successor-${count + 1}.jwt`;

  test("warns in every command that reads, and changes no file", async () => {
    const { folder } = await deskWithSuccessors(count);
    moveAway(folder, newest);
    const before = keyFiles(folder);
    expect(Object.keys(before)).toHaveLength(count + 1);
    for (const command of READING_COMMANDS) {
      const result = await runBerth(["vendor", ...command, "--dir", folder]);
      expect([command, result.stderr]).toEqual([
        command,
        expect.stringContaining(`${newest} is missing`),
      ]);
      expect([command, keyFiles(folder)]).toEqual([command, before]);
    }
    expect(existsSync(join(folder, newest))).toBe(false);
  });

  test("writes the document again from the ledger before it signs with its current key", async () => {
    const { folder, last } = await deskWithSuccessors(count);
    const movedTo = moveAway(folder, newest);
    const before = keyFiles(folder);
    const result = await signPolicy(folder);
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining(newest)]);
    expect(readFileSync(join(folder, newest), "utf8")).toBe(readFileSync(movedTo, "utf8"));
    expect(keyFiles(folder)).toEqual(before);
    const opened = await Desk.open(realDisk, folder, null);
    expect([opened.key, opened.vendor]).toEqual([last.key, last.vendor]);
    await runOrThrow(["vendor", "verify", "--dir", folder]);
  });

  test("refuses to sign with an older key if the ledger has no line about the document", async () => {
    const { folder } = await deskWithSuccessors(count);
    loseLedgerLines(folder);
    const movedTo = moveAway(folder, newest);
    const before = keyFiles(folder);
    const refused = await signPolicy(folder);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("is not in its trust document"),
    ]);
    expect(keyFiles(folder)).toEqual(before);
    renameSync(movedTo, join(folder, newest));
    expect((await signPolicy(folder)).code).toBe(0);
  });
});

test("verify reports a trust.jwt that is older than the ledger, and opening the desk repairs it", async () => {
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

test("a desk whose key file contains an earlier, unretired key refuses to sign", async () => {
  const { folder, first } = await deskWithSuccessors(1);
  renameSync(join(folder, `${keyIdOf(first.key)}.vendor.jwk`), join(folder, "vendor.jwk"));
  const refused = await signPolicy(folder);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("is not the current one"),
  ]);
});

test("a desk whose newest document and ledger name different keys refuses to sign", async () => {
  const { folder, first } = await deskWithSuccessors(0);
  const copy = join(tempFolder(), "desk");
  realDisk.makeFolder(copy);
  for (const name of ["trust.jwt", "vendor.jwk", "ledger.jsonl", "ledger.head"]) {
    writeFileSync(join(copy, name), readFileSync(join(folder, name)));
  }
  await first.rotateKey(realDisk, folder, null);
  const other = await Desk.open(realDisk, copy, null);
  await other.rotateKey(realDisk, copy, null);
  for (const name of ["successor-2.jwt", "vendor.jwk"]) {
    writeFileSync(join(folder, name), readFileSync(join(copy, name)));
  }
  const refused = await signPolicy(folder);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("has another current key than the ledger"),
  ]);
  expect((await runBerth(["vendor", "verify", "--dir", folder])).code).toBe(1);
});

test("the error for a missing trust.jwt suggests a backup and not vendor init", async () => {
  const { folder } = await deskWithSuccessors(0);
  moveAway(folder, "trust.jwt");
  for (const command of ["show", "verify", "product add X"]) {
    const result = await runBerth(["vendor", ...command.split(" "), "--dir", folder]);
    expect([command, result.code]).toEqual([command, 1]);
    expect(result.stderr).toContain("trust.jwt is missing");
    expect(result.stderr).toContain("from a backup");
    expect(result.stderr).not.toContain("vendor init");
  }
});
