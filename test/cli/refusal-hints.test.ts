import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/command-table.ts";
import { REFUSAL_HINTS, refusalHint } from "../../src/cli/refusal-hints.ts";

const faults = readFileSync(join(import.meta.dir, "../../src/http/fault-messages.ts"), "utf8");

test.each(Object.entries(REFUSAL_HINTS))(
  "%s is a refusal, and what helps is there",
  (code, hint) => {
    expect(faults).toMatch(new RegExp(`^  ${code}: \\{`, "m"));
    for (const [, words = ""] of hint.matchAll(/\bberth ([a-z -]+)/g)) {
      const named = commands.some(({ name }) => `${words} `.startsWith(`${name} `));
      expect([words, named]).toEqual([words, true]);
    }
  },
);

test("a refusal without one has none", () => {
  expect(refusalHint("license_expired")).toBe("");
});
