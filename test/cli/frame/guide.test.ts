import { describe, expect, test } from "bun:test";
import { readDocument } from "../../support/documents.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";

const headingsIn = (text: string): string[] =>
  [...text.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);

describe("berth help guide", () => {
  test.each([
    ["operating guide", [], "src/cli/README.md"],
    ["guide of a pair", ["pair"], "src/cli/PAIR.md"],
  ])(
    "prints every section of the %s, as plain text of at most 100 columns",
    async (_name, words, path) => {
      const guide = await runOrThrow(["help", "guide", ...words]);
      expect(headingsIn(guide)).toEqual(headingsIn(readDocument(path)));
      expect(/```|\]\(/.exec(guide)).toBeNull();
      expect(guide.split("\n").filter((line) => line.length > 100)).toEqual([]);
    },
  );

  test.each([
    ["vendor's guide", "vendor", "src/desk/README.md"],
    ["guide of the API", "api", "src/http/README.md"],
  ])("prints every section of the %s, with its text wrapped at 100 columns", async (...row) => {
    const [, word, path] = row;
    const guide = await runOrThrow(["help", "guide", word]);
    expect(headingsIn(guide)).toEqual(headingsIn(readDocument(path)));
    const texts = guide.split("\n").filter((line) => !/^\|| {4}/.test(line));
    expect(texts.filter((line) => line.length > 100)).toEqual([]);
    const words = (text: string): string =>
      text.replaceAll(/\[([^[\]]+)\]\([^()]+\)|^\s*```.*$/gm, "$1").replaceAll(/[\s-]+/g, " ");
    expect(words(guide).trim()).toBe(words(readDocument(path)).trim());
  });

  test("prints sections of the guide that the first word names", async () => {
    const sections = await runOrThrow(["help", "guide", "vendor", "renew"]);
    expect(headingsIn(sections)).toEqual(["Renew a license"]);
  });

  test("prints only the sections whose heading contains the given words", async () => {
    const sections = await runOrThrow(["help", "guide", "troubleshooting"]);
    expect(headingsIn(sections)).toEqual([
      "Troubleshooting by symptom",
      "Troubleshooting by error code",
    ]);
    expect(headingsIn(await runOrThrow(["help", "guide", "DISK", "problems"]))).toEqual([
      "Disk problems",
    ]);
  });

  test("refuses words that no heading contains, and lists the headings", async () => {
    const { code, stdout, stderr } = await runBerth(["help", "guide", "frobnicate"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain('no section of the guide is called "frobnicate"');
    expect(stderr).toContain("; Disk problems; ");
  });
});
