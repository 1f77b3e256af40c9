import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bugs } from "./bugs.ts";

const root = join(import.meta.dir, "..", "..", "..");

// A hunt takes minutes; that there is something to hunt is known at once.
test.each(bugs.map((bug) => [bug.name, bug] as const))("can be planted: %s", (_name, bug) => {
  expect(readFileSync(join(root, bug.file), "utf8").split(bug.find).length - 1).toBe(1);
});
