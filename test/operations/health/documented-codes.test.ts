import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { INSTALLATION_CODES, SERVER_CODES } from "../../../src/operations/health/finding.ts";

test("the operating guide lists every code of a finding, and no other", () => {
  const guide = readFileSync(join(import.meta.dir, "../../../src/cli/README.md"), "utf8");
  const [, table = ""] = /^\| codes +\| about +\|\n([\s\S]*?)\n\n/m.exec(guide) ?? [];
  const documented = [...table.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
  expect(documented.toSorted()).toEqual([...SERVER_CODES, ...INSTALLATION_CODES].toSorted());
});
