import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const root = join(import.meta.dir, "..");

/** Their tests have the same subfolders. */
const SOURCE_FOLDERS = readdirSync(join(root, "src"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const TEST_NAME = /\.(?:test|slow)\.ts$/;

const tests = SOURCE_FOLDERS.flatMap((folder) => [
  ...new Bun.Glob(`test/${folder}/**/*.{test,slow}.ts`).scanSync(root),
]).toSorted();

/** By the name of a source file, in which subfolders it is. */
const foldersBySource = new Map<string, string[]>();
for (const folder of SOURCE_FOLDERS) {
  for (const path of new Bun.Glob(`src/${folder}/**/*.{ts,tsx}`).scanSync(root)) {
    const name = `${folder}/${basename(path).replace(/\.tsx?$/, "")}`;
    foldersBySource.set(name, [...(foldersBySource.get(name) ?? []), dirname(path)]);
  }
}

test("every subfolder with tests of a folder of src is also a subfolder there", () => {
  const folders = new Set(tests.map((path) => dirname(path).replace("test/", "src/")));
  expect([...folders].filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
});

test("a test that has the name of a source file is in the same subfolder", () => {
  const misplaced = tests.filter((path) => {
    const [, top = ""] = path.split("/");
    const sources = foldersBySource.get(`${top}/${basename(path).replace(TEST_NAME, "")}`);
    return sources !== undefined && !sources.includes(dirname(path).replace("test/", "src/"));
  });
  expect(misplaced).toEqual([]);
});

test("each of the seven operations has a test of its name for its rules and for its route", () => {
  const operations = [
    "register",
    "borrow",
    "add-consumption",
    "add-feature-consumption",
    "airgap-license",
    "license-generate",
    "set-keys",
  ];
  for (const folder of ["domain", "http"]) {
    const paths = [...new Bun.Glob(`test/${folder}/**/*.test.ts`).scanSync(root)];
    const names = new Set(paths.map((path) => basename(path, ".test.ts")));
    expect(operations.filter((name) => !names.has(name))).toEqual([]);
  }
});
