import { describe, expect, test } from "bun:test";
import { applyEdit, type SourceEdit } from "./source-edits.ts";

const edit = (source: string, change: SourceEdit): string =>
  applyEdit(new Map([["src/file.ts", source]]), change).text;

describe("an edit of the sources", () => {
  test("finds a call by its structure, whatever the format and the names", () => {
    const source = "class A { async #b() {\n  await this.#disk\n    .sync( /* all */ );\n} }";
    expect(edit(source, { in: "A.#b", find: "$file.sync()", replace: "null" })).toBe(
      "class A { async #b() {\n  await null;\n} }",
    );
  });

  test("changes nothing outside the declaration", () => {
    const source = "const a = () => sync();\nconst b = () => sync();\n";
    expect(edit(source, { in: "b", find: "sync()", replace: "null" })).toBe(
      "const a = () => sync();\nconst b = () => null;\n",
    );
  });

  test("removes a statement", () => {
    const source = "function a(x) { if (x.size > 3) cut(x, 3); return x; }";
    const find = "if ($size > $n) cut($x, $n);";
    expect(edit(source, { in: "a", find, replace: "" })).toBe("function a(x) {  return x; }");
  });

  test("puts what a hole matched in parentheses where operators could mix", () => {
    const source = "const a = (x, y) => !f(x || y);";
    expect(edit(source, { in: "a", find: "f($x)", replace: "$x && 1" })).toBe(
      "const a = (x, y) => !(x || y) && 1;",
    );
  });

  test("keeps the rest of a list", () => {
    const source = "const a = { 4: four, ...rest, 3: three };";
    const replace = "{ 5: five, 4: $step, $$steps }";
    expect(edit(source, { in: "a", find: "{ 4: $step, $$steps }", replace })).toBe(
      "const a = { 5: five, 4: four, ...rest, 3: three };",
    );
  });

  test.each([
    ["no such declaration", { in: "b", find: "sync()", replace: "" }, "nothing in src is named b"],
    ["no such place", { in: "a", find: "flush()", replace: "" }, "0 times, not once"],
    ["two places", { in: "a", find: "sync()", replace: "null" }, "2 times, not once"],
    ["the same hole for different code", { in: "a", find: "$x + $x", replace: "" }, "0 times"],
    ["a result that is no program", { in: "a", find: "y + 1;", replace: "(" }, "file.ts"],
    ["a result that is the same", { in: "a", find: "y + 1", replace: "y + 1" }, "stays the same"],
  ])("is refused: %s", (_reason, change, message) => {
    const source = "function a(y) { sync(); sync(); y + 1; }";
    expect(() => edit(source, change)).toThrow(message);
  });
});
