// A ledger whose end was cut off, and lines of an older version behind those of this one.
import { describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { makeDiskError, FaultyDisk } from "../support/faulty-disk.ts";

const ledgerIn = (folder: string): string => join(folder, "ledger.jsonl");
const headIn = (folder: string): string => join(folder, "ledger.head");
const linesIn = (folder: string): string[] =>
  readFileSync(ledgerIn(folder), "utf8").split("\n").slice(0, -1);
const writeLines = (folder: string, lines: readonly string[]): void =>
  writeFileSync(ledgerIn(folder), lines.map((line) => `${line}\n`).join(""));

/** A desk with two licenses, by four lines. */
async function deskWithLicenses() {
  const { desk, folder, site } = await openDeskAndSite();
  await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 1 } });
  await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 2 } });
  return { desk, folder, site };
}

const sign = (folder: string) =>
  runBerth(["vendor", "policy", "--dir", folder, "--policy-id", "p", "--product", "sim"]);

describe("a ledger", () => {
  test.each<[what: string, cut: (lines: string[]) => string[], says: string]>([
    ["without its last line", (lines) => lines.slice(0, -1), "has only 3 of its 4 lines"],
    ["without any line", () => [], "has only 0 of its 4 lines"],
  ])("%s is found by verify, and nothing is signed or added", async (_what, cut, says) => {
    const { folder, site } = await deskWithLicenses();
    const stale = await Desk.open(realDisk, folder, null);
    writeLines(folder, cut(linesIn(folder)));
    const verified = await runBerth(["vendor", "verify", "--dir", folder]);
    expect([verified.code, verified.stderr]).toEqual([1, expect.stringContaining(says)]);
    const shown = await runBerth(["vendor", "list", "--dir", folder]);
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining(says)]);
    const before = [readFileSync(ledgerIn(folder), "utf8"), readFileSync(headIn(folder), "utf8")];
    const refused = await sign(folder);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(says)]);
    expect(refused.stderr).toContain("delete ledger.head");
    expect(issueTestLicense(stale, await makeRequestFrom(site))).rejects.toThrow(
      "another command is writing",
    );
    const after = [readFileSync(ledgerIn(folder), "utf8"), readFileSync(headIn(folder), "utf8")];
    expect(after).toEqual(before);
    rmSync(headIn(folder));
    expect((await sign(folder)).code).toBe(0);
  });

  test("with other lines than those that were written is found by verify", async () => {
    const [one, other] = [await deskWithLicenses(), await deskWithLicenses()];
    writeFileSync(ledgerIn(one.folder), readFileSync(ledgerIn(other.folder)));
    const { faults } = await verifyDesk(realDisk, one.folder, null);
    expect(faults.map(({ problem }) => problem)).toContainEqual(
      expect.stringContaining("line 4 was changed after it was written"),
    );
  });

  test("of a desk without ledger.head is fine, and the next line makes the file", async () => {
    const { folder } = await deskWithLicenses();
    rmSync(headIn(folder));
    await runOrThrow(["vendor", "verify", "--dir", folder]);
    expect((await sign(folder)).code).toBe(0);
    expect(existsSync(headIn(folder))).toBe(true);
    writeLines(folder, linesIn(folder).slice(0, -1));
    expect((await runBerth(["vendor", "verify", "--dir", folder])).code).toBe(1);
  });

  test("keeps an answer whose ledger.head could not be written, and is fine", async () => {
    const { folder, site } = await deskWithLicenses();
    const disk = new FaultyDisk();
    const desk = await Desk.open(disk, folder, null);
    disk.beforeCall = ({ path }) => {
      if (path.includes("ledger.head")) throw makeDiskError("ENOSPC");
    };
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 3 } });
    disk.clearFaults();
    expect((await Desk.open(realDisk, folder, null)).ledger.issuedEntries()).toHaveLength(3);
    expect((await verifyDesk(realDisk, folder, null)).faults).toEqual([]);
  });

  test("takes the lines that an older version added without a hash, and verify names them", async () => {
    const { folder, site } = await deskWithLicenses();
    const lines = linesIn(folder);
    const desk = await Desk.open(realDisk, folder, null);
    const sold = await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 3 } });
    const added = linesIn(folder).slice(lines.length);
    rmSync(headIn(folder));
    const bare = added.map((line) => line.replace(/,"prev":"[0-9a-f]{64}"/, ""));
    writeLines(folder, lines);
    appendFileSync(ledgerIn(folder), bare.map((line) => `${line}\n`).join(""));
    const signed = await sign(folder);
    const what = "lines 5, 6 have no hash of the previous line";
    expect([signed.code, signed.stderr]).toEqual([0, expect.stringContaining(what)]);
    const opened = await Desk.open(realDisk, folder, null);
    expect(opened.ledger.issuedEntries()[0]).toEqual(sold);
    expect(opened.notes).toEqual([]);
    const verified = await runBerth(["vendor", "verify", "--dir", folder]);
    expect([verified.code, verified.stderr]).toEqual([0, expect.stringContaining(what)]);
    writeLines(folder, linesIn(folder).toSpliced(5, 1));
    const cut = await runBerth(["vendor", "verify", "--dir", folder]);
    expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining("does not continue")]);
  });
});

test("a desk with successors and without a line about them is named by verify", async () => {
  const { desk, folder } = await openDeskAndSite();
  await desk.rotateKey(realDisk, folder, null);
  writeLines(folder, []);
  rmSync(headIn(folder));
  const verified = await runBerth(["vendor", "verify", "--dir", folder]);
  expect([verified.code, verified.stderr]).toEqual([
    0,
    expect.stringContaining("the ledger has no line for version 2"),
  ]);
});

test("a key file that is left over is named by verify", async () => {
  const { folder } = await openDeskAndSite();
  writeFileSync(join(folder, "vendor.jwe.new"), "x");
  writeFileSync(join(folder, "0000000000000000.vendor.jwk"), "x");
  const { stderr } = await runBerth(["vendor", "verify", "--dir", folder]);
  expect(stderr).toContain("vendor.jwe.new");
  expect(stderr).toContain("0000000000000000.vendor.jwk");
});
