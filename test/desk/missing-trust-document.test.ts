// A desk's folder without its trust document, or with an older one, for example because the vendor
// moved the file instead of copying it.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { readText, signNextTrust } from "../support/desk-keys.ts";
import { refusal } from "../support/desk-refusal.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function makeDesk(): Promise<{ readonly folder: string; readonly path: string }> {
  const folder = join(tempFolder(), "desk");
  await Desk.create(realDisk, folder, { name: "Acme", products: ["CAD"], passphrase: null });
  return { folder, path: join(folder, "trust.jwt") };
}

const POLICY = ["--policy-id", "p", "--product", "CAD", "--valid-until", "never"];

const signPolicy = (folder: string) => runBerth(["vendor", "policy", "--dir", folder, ...POLICY]);

test("every command that reads warns of a missing document, and writes nothing", async () => {
  const { folder, path } = await makeDesk();
  await signNextTrust(folder, { products: ["CAD", "CAM"] });
  renameSync(path, join(tempFolder(), "moved"));
  for (const command of ["show", "list", "verify"]) {
    const { stderr } = await runBerth(["vendor", command, "--dir", folder]);
    expect([command, stderr]).toEqual([command, expect.stringContaining("trust.jwt is missing")]);
  }
  expect(existsSync(path)).toBe(false);
});

test("the document is written again from the ledger before the desk signs", async () => {
  const { folder, path } = await makeDesk();
  const { trust } = await signNextTrust(folder, { products: ["CAD", "CAM"] });
  renameSync(path, join(tempFolder(), "moved"));
  const { code, stderr } = await signPolicy(folder);
  expect([code, stderr]).toEqual([0, expect.stringContaining("trust.jwt was written again")]);
  expect(readText(path)).toBe(trust.document);
  await runOrThrow(["vendor", "verify", "--dir", folder]);
});

test("an older document is reported by verify, and replaced before the desk signs", async () => {
  const { folder, path } = await makeDesk();
  const old = readFileSync(path, "utf8");
  const { trust } = await signNextTrust(folder, { products: ["CAD", "CAM"] });
  writeFileSync(path, old);
  const verified = await runBerth(["vendor", "verify", "--dir", folder]);
  expect([verified.code, verified.stderr]).toEqual([
    1,
    expect.stringContaining("trust.jwt is older than in the ledger"),
  ]);
  expect((await Desk.open(realDisk, folder, null)).vendor).toEqual(trust.vendor);
  expect(readText(path)).toBe(trust.document);
});

test("a retirement stays in force if the older document is put back", async () => {
  const { folder, path } = await makeDesk();
  const old = readFileSync(path, "utf8");
  const { keys } = await Desk.open(realDisk, folder, null);
  await signNextTrust(folder, { retired: keys.map(({ id }) => id) });
  writeFileSync(path, old);
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("is retired");
});

test("a document of another vendor is refused, whatever its version is", async () => {
  for (const version of [1, 2]) {
    const [{ folder, path }, other] = [await makeDesk(), await makeDesk()];
    if (version === 2) await signNextTrust(other.folder, { name: "Other" });
    writeFileSync(path, readFileSync(other.path));
    const reason = await refusal(Desk.open(realDisk, folder, null));
    expect(reason).toContain("trust.jwt is of another vendor than the ledger; move it");
    renameSync(path, join(tempFolder(), "moved"));
    await Desk.open(realDisk, folder, null);
    expect(readText(path)).not.toBe(readText(other.path));
  }
});

test("a folder with neither the document nor a ledger is no desk", async () => {
  const { folder, path } = await makeDesk();
  for (const file of [path, join(folder, "ledger.jsonl")]) realDisk.remove(file);
  for (const command of ["show", "verify"]) {
    const { code, stderr } = await runBerth(["vendor", command, "--dir", folder]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is not a desk")]);
  }
});
