import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  runWithAnswers,
} from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";
import { withEnd } from "../../../support/vendor-commands.ts";

interface VerifyOutput {
  readonly audit_sum: string;
  readonly licenses: number;
}

const verifyFolder = (folder: string): Promise<VerifyOutput> =>
  runJsonOrThrow<VerifyOutput>(["verify", folder]);

/** Paths that cannot be written, each with the reason. */
const UNWRITABLE_PATHS: readonly [string, (root: string) => string][] = [
  ["in a missing folder", (root) => join(root, "missing", "out.jwt")],
  ["a folder", (root) => root],
  ["a file that is not a document", (root) => join(root, "letter")],
];

test.each(UNWRITABLE_PATHS)(
  "license request and license remove change nothing when --out is %s",
  async (_what, pathIn) => {
    const [folder, root] = [join(tempFolder(), "data"), join(tempFolder(), "out")];
    const id = await makeLicensedSite(folder, { product: "cad" });
    mkdirSync(root);
    writeFileSync(join(root, "letter"), "Dear vendor\n");
    const before = await verifyFolder(folder);
    const out = ["--data", folder, "--out", pathIn(root)];
    for (const words of [
      ["license", "request", "--product", "cad"],
      ["license", "remove", String(id), "--yes"],
    ]) {
      const { code, stdout, stderr } = await runBerth([...words, ...out]);
      expect([code > 0, stdout]).toEqual([true, ""]);
      expect(stderr).toStartWith("berth: error: ");
      expect(stderr).toContain("berth: hint: ");
    }
    expect(await verifyFolder(folder)).toEqual(before);
    expect(existsSync(join(root, "missing"))).toBe(false);
  },
);

test("license remove says that there is no such license, instead of asking first", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad" });
  const words = ["license", "remove", "999", "--data", folder];
  const { code, text } = await runWithAnswers(words, []);
  expect([code, text]).toEqual([1, expect.stringContaining("(license_not_found)")]);
});

test("license request and license remove never overwrite a document of another kind", async () => {
  const [folder, root] = [join(tempFolder(), "data"), tempFolder()];
  const id = await makeLicensedSite(folder, { product: "cad" });
  const requestFile = join(root, "request.jwt");
  const request = ["license", "request", "--product", "cad", "--data", folder];
  await runOrThrow([...request, "--out", requestFile]);
  const desk = ["--dir", join(root, "desk")];
  await runOrThrow([
    "vendor",
    "init",
    ...desk,
    "--name",
    "Acme",
    "--no-passphrase",
    "--product",
    "cad",
  ]);
  const license = join(root, "license.jwt");
  const terms = ["--request", requestFile, "--allow-weak-binding", "--out", license];
  await runOrThrow(["vendor", "issue", ...desk, ...withEnd(terms)]);
  const bytes = readFileSync(license, "utf8");
  const before = await verifyFolder(folder);
  for (const [words, kind] of [
    [request, "a license request"],
    [["license", "remove", String(id), "--yes", "--data", folder], "a receipt"],
  ] as const) {
    const { code, stdout, stderr } = await runBerth([...words, "--out", license]);
    expect([code, stdout, stderr]).toEqual([
      2,
      "",
      `berth: error: ${license} is a license; it is not overwritten with ${kind}\nberth: hint: choose another --out\n`,
    ]);
  }
  expect(readFileSync(license, "utf8")).toBe(bytes);
  expect(await verifyFolder(folder)).toEqual(before);
  // An earlier request may be overwritten by a new one.
  await runOrThrow([...request, "--out", requestFile]);
});
