import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseRules } from "../../../../src/rules/parse-rules.ts";
import { OPTIONS_FILES } from "../../../rules/flexnet/options-files.ts";
import { runBerth, type CommandOptions } from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const run = (args: readonly string[], options: CommandOptions = {}) =>
  runBerth(["rules", "import", ...args], options);

function writeOptions(text: string): { folder: string; file: string } {
  const folder = tempFolder();
  const file = join(folder, "vendor.opt");
  writeFileSync(file, text);
  return { folder, file };
}

describe("berth rules import", () => {
  test("prints rules that can be read, and names the other lines on standard error", async () => {
    const { file } = writeOptions(OPTIONS_FILES.teams);
    const { code, stdout, stderr } = await run([file]);
    expect(code).toBe(0);
    expect(parseRules(stdout).rules?.pools.map(({ product }) => product)).toEqual([
      "mesher",
      "solver",
    ]);
    expect(stderr).toContain("12 options converted, 4 options without an equivalent");
    expect(stderr).toContain("line 4: REPORTLOG");
  });

  test("reads standard input, and prints JSON with every line that was not converted", async () => {
    const { code, stdout, stderr } = await run(["-", "--json"], {
      stdin: "INCLUDE f1 USER ada\nNOLOG IN\n",
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      converted: 1,
      not_converted: [{ line: 2, last_line: 2, text: "NOLOG IN" }],
    });
  });

  test("writes a new file with --out, and does not replace one", async () => {
    const { folder, file } = writeOptions(OPTIONS_FILES.small);
    const out = join(folder, "rules.toml");
    const first = await run([file, "--out", out]);
    expect(first.code).toBe(0);
    expect(first.stdout).toContain(`berth rules check ${out}`);
    const written = readFileSync(out, "utf8");
    expect(parseRules(written).rules).not.toBeNull();
    const second = await run([file, "--out", out]);
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain("exists");
    expect(readFileSync(out, "utf8")).toBe(written);
  });

  test("names products as --map says", async () => {
    const { stdout } = await run(
      ["-", "--map", "f1=CAD", "--map", "f2=CAD:RENDER", "--map", "f3:VERSION=1.0=CAE"],
      { stdin: "MAX 1 f1 USER a\nMAX 2 f2 USER a\nMAX 3 f3:VERSION=1.0 USER a\n" },
    );
    const pools = parseRules(stdout).rules?.pools.map(({ product, feature }) => [product, feature]);
    expect(pools).toEqual([
      ["CAD", null],
      ["CAD", "RENDER"],
      ["CAE", null],
    ]);
  });

  test("names the flag --map until each feature has a product", async () => {
    const stdin = "MAX 1 f1 USER a\nMAX 2 f2:VERSION=1.0 USER a\n";
    const part = await run(["-", "--map", "f1=CAD"], { stdin });
    expect(part.stderr).toContain("it is converted if f2:VERSION=1.0 is given a product");
    expect(part.stderr).toContain("--map f2:VERSION=1.0=PRODUCT");
    const all = await run(["-", "--map", "f1=CAD", "--map", "f2:VERSION=1.0=CAE"], { stdin });
    expect(all.stderr).not.toContain("--map");
    expect((await run(["-"], { stdin: "INCLUDEALL USER a\n" })).stderr).toContain("--map FEATURE=");
  });

  test("refuses a map without a product, with an example", async () => {
    for (const map of ["f1", "f1=", "=CAD", "f1=CAD:", "f1=CAD:A:B"]) {
      const { code, stderr } = await run(["-", "--map", map], { stdin: "NOLOG IN\n" });
      expect([map, code]).toEqual([map, 2]);
      expect(stderr).toContain("--map cad_base=CAD");
    }
  });

  test("refuses an empty file, and one that is not UTF-8", async () => {
    const { file } = writeOptions("");
    expect((await run([file])).stderr).toContain("is empty");
    writeFileSync(file, Buffer.from([0x47, 0xe4, 0x0a]));
    const { code, stderr } = await run([file]);
    expect(code).toBe(1);
    expect(stderr).toContain("iconv");
  });
});
