import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/command-table.ts";
import { REFUSAL_HINTS, refusalHint } from "../../src/cli/frame/refusal-hints.ts";

const faults = ["fault-messages.ts", "request-fault-messages.ts"]
  .map((name) => readFileSync(join(import.meta.dir, "../../src/http", name), "utf8"))
  .join("\n");

test.each(Object.entries(REFUSAL_HINTS))(
  "the hint for %s belongs to a known fault and names commands that exist",
  (code, hint) => {
    expect(faults).toMatch(new RegExp(`^  ${code}: \\{`, "m"));
    for (const [, words = ""] of hint.matchAll(/\bberth ([a-z -]+)/g)) {
      const isCommand = commands.some(({ name }) => `${words} `.startsWith(`${name} `));
      expect([words, isCommand]).toEqual([words, true]);
    }
  },
);

test("refusalHint is empty for a fault without a hint", () => {
  expect(refusalHint("license_expired")).toBe("");
});
