import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { berth, doneJson } from "../support/berth.ts";
import { makeSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

// Processes of their own, on a machine that may be busy with others.
setDefaultTimeout(60_000);

interface Walked {
  readonly audit_sum: string;
  readonly licenses: number;
}

const walked = (folder: string): Promise<Walked> => doneJson<Walked>(["verify", folder]);

/** Where nothing can be written, by what stands in the way. */
const PLACES: readonly [string, (root: string) => string][] = [
  ["a folder that is not there", (root) => join(root, "missing", "out.jwt")],
  ["a folder", (root) => root],
  ["somebody's letter", (root) => join(root, "letter")],
];

test.each(PLACES)("nothing is recorded for %s", async (_what, place) => {
  const [folder, root] = [join(tempFolder(), "data"), join(tempFolder(), "out")];
  const id = await makeSite(folder, { product: "cad" });
  mkdirSync(root);
  writeFileSync(join(root, "letter"), "Dear vendor\n");
  const before = await walked(folder);
  const out = ["--data", folder, "--out", place(root)];
  for (const words of [
    ["license", "request", "--product", "cad"],
    ["license", "remove", String(id), "--yes"],
  ]) {
    const { code, stdout, stderr } = await berth([...words, ...out]);
    expect([code > 0, stdout]).toEqual([true, ""]);
    expect(stderr).toStartWith("berth: error: ");
    expect(stderr).toContain("berth: hint: ");
  }
  expect(await walked(folder)).toEqual(before);
  expect(existsSync(join(root, "missing"))).toBe(false);
});
