// Folders and files may have any name that the system allows.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../support/run-berth.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const NAMES = [
  "two words",
  " between spaces ",
  "ümlaut 日本語",
  "e\u0301 in two characters",
  'it\'s "quoted"',
  "$HOME `id` ; rm -rf *",
  "back\\slash",
  "line\nfeed\tand tab",
  "\u001B[2Jescape\r",
  "100%20percent",
  "#hash?query",
  "-dash",
  ".hidden",
  "journal-1.jsonl",
  "x".repeat(200),
];

test.each(NAMES)("a site is backed up, restored and moved in folders named %j", async (name) => {
  const root = join(tempFolder(), name);
  const path = (file: string): string => join(root, `${file} ${name}`.slice(0, 200));
  const site = path("site");
  await makeLicensedSite(site, { product: "cad" });
  const backup = await runJsonOrThrow(["backup", path("backup"), "--data", site]);
  expect(backup).toMatchObject({ path: path("backup") });
  await runOrThrow(["verify", path("backup")]);
  await runOrThrow(["restore", path("backup"), "--data", path("restored")]);
  await runOrThrow(["move", "out", path("moved"), "--yes", "--data", site]);
  await runOrThrow(["move", "in", path("moved"), "--data", path("new")]);
  for (const folder of ["restored", "new"]) await runOrThrow(["verify", "--data", path(folder)]);
  expect(readdirSync(root).length).toBe(5);
  const refused = await runBerth(["backup", path("backup"), "--data", site]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("already exists")]);
  // No name can move the cursor.
  for (const character of "\t\r\u001B") expect(refused.stderr).not.toContain(character);
});
