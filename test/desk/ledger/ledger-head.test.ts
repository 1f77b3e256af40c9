// A ledger whose end was cut off.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../../support/desk-and-site.ts";
import { signNextTrust } from "../../support/desk-keys.ts";
import { makeDiskError, FaultyDisk } from "../../support/faulty-disk.ts";

const ledgerPath = (folder: string): string => join(folder, "ledger.jsonl");
const headPath = (folder: string): string => join(folder, "ledger.head");
const readLines = (folder: string): string[] =>
  readFileSync(ledgerPath(folder), "utf8").split("\n").slice(0, -1);
const writeLines = (folder: string, lines: readonly string[]): void =>
  writeFileSync(ledgerPath(folder), lines.map((line) => `${line}\n`).join(""));

/** A desk with two licenses, which are four ledger lines after the first two. */
async function deskWithLicenses() {
  const { desk, folder, site } = await openDeskAndSite();
  await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 1 } });
  await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 2 } });
  return { desk, folder, site };
}

const POLICY = ["--policy-id", "p", "--product", "sim", "--valid-until", "never"];

const signPolicy = (folder: string) => runBerth(["vendor", "policy", "--dir", folder, ...POLICY]);

describe("the ledger", () => {
  test.each<[description: string, cut: (lines: string[]) => string[], message: string]>([
    ["without its last line", (lines) => lines.slice(0, -1), "has only 5 of its 6 lines"],
    ["without any line", () => [], "has only 0 of its 6 lines"],
  ])("%s is reported by verify, and the desk signs nothing", async (_, cut, message) => {
    const { desk, folder, site } = await deskWithLicenses();
    const stale = await Desk.open(realDisk, folder, null);
    writeLines(folder, cut(readLines(folder)));
    const verified = await runBerth(["vendor", "verify", "--dir", folder]);
    expect([verified.code, verified.stderr]).toEqual([1, expect.stringContaining(message)]);
    const shown = await runBerth(["vendor", "list", "--dir", folder]);
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining(message)]);
    const before = [
      readFileSync(ledgerPath(folder), "utf8"),
      readFileSync(headPath(folder), "utf8"),
    ];
    const refused = await signPolicy(folder);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(refused.stderr).toContain("empty ledger.head");
    expect(issueTestLicense(stale, await makeRequestFrom(site))).rejects.toThrow(
      "became shorter while it was open",
    );
    const after = [
      readFileSync(ledgerPath(folder), "utf8"),
      readFileSync(headPath(folder), "utf8"),
    ];
    expect(after).toEqual(before);
    writeFileSync(headPath(folder), "");
    await Desk.acceptCertificate(realDisk, folder, desk.issuing.cert);
    expect((await signPolicy(folder)).code).toBe(0);
    await runOrThrow(["vendor", "verify", "--dir", folder]);
  });

  test("with replaced lines is reported by verify", async () => {
    const [first, second] = [await deskWithLicenses(), await deskWithLicenses()];
    writeFileSync(ledgerPath(first.folder), readFileSync(ledgerPath(second.folder)));
    const { faults } = await verifyDesk(realDisk, first.folder, null);
    expect(faults.map(({ problem }) => problem)).toContainEqual(
      expect.stringContaining("line 6 was changed after it was written"),
    );
  });

  test("without ledger.head is valid, and the next line creates the file", async () => {
    const { folder } = await deskWithLicenses();
    rmSync(headPath(folder));
    await runOrThrow(["vendor", "verify", "--dir", folder]);
    expect((await signPolicy(folder)).code).toBe(0);
    expect(existsSync(headPath(folder))).toBe(true);
    writeLines(folder, readLines(folder).slice(0, -1));
    expect((await runBerth(["vendor", "verify", "--dir", folder])).code).toBe(1);
  });

  test("keeps an answer and stays valid if ledger.head could not be written", async () => {
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
});

test("verify reports a trust document that has no line in the ledger", async () => {
  const { desk, folder } = await openDeskAndSite();
  await signNextTrust(folder, { name: "Initech" });
  writeLines(folder, []);
  writeFileSync(headPath(folder), "");
  await Desk.acceptCertificate(realDisk, folder, desk.issuing.cert);
  const verified = await runBerth(["vendor", "verify", "--dir", folder]);
  expect([verified.code, verified.stderr]).toEqual([
    0,
    expect.stringContaining("the ledger has no line for version 2"),
  ]);
});

test("verify names key files that are left over", async () => {
  const { folder } = await openDeskAndSite();
  writeFileSync(join(folder, "0123456789ABCDEF.key.jwe.new"), "x");
  writeFileSync(join(folder, "0000000000000000.key.jwk"), "x");
  const { code, stderr } = await runBerth(["vendor", "verify", "--dir", folder]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("0123456789ABCDEF.key.jwe.new is left"),
  ]);
  expect(stderr).toContain("the key 0000000000000000 waits for its certificate");
});
