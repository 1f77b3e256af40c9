import { expect, test } from "bun:test";
import { QUICK_SIZE } from "./bench-part.ts";
import { measureTables } from "./tables.ts";

test("the comparison of hash tables with maps has a figure for each ratio, and loses no entry", async () => {
  const size = { ...QUICK_SIZE, rounds: 1, registrations: [100, 1_000] };
  const { figures, text, wrong } = await measureTables(size);
  expect(wrong).toEqual([]);
  expect(text).toStartWith("1,000 entries");
  expect(figures).toHaveLength(6);
  for (const { value } of figures) expect(value).toBeGreaterThan(0);
});
