import { expect, test } from "bun:test";
import { commands } from "../../src/cli/command-table.ts";
import { refusalHint } from "../../src/cli/frame/refusal-hints.ts";
import { FAULTS } from "../../src/faults/catalog.ts";

const hints = Object.keys(FAULTS)
  .map((code) => [code, refusalHint(code)] as const)
  .filter(([, hint]) => hint !== "");

test("refusalHint has a hint for more than twenty faults", () => {
  expect(hints.length).toBeGreaterThan(20);
});

test.each(hints)("the hint for %s names commands that exist", (_code, hint) => {
  for (const [, words = ""] of hint.matchAll(/\bberth ([a-z -]+)/g)) {
    const isCommand = commands.some(({ name }) => `${words} `.startsWith(`${name} `));
    expect([words, isCommand]).toEqual([words, true]);
  }
});

test("refusalHint is empty for a fault without a hint", () => {
  expect(refusalHint("license_expired")).toBe("");
});
