import { expect, test } from "bun:test";
import { addTallies, formatTally, readTally, tallyOf } from "./summary.ts";

const RUNNER = "(pass) a\n\n 12 pass\n 1 skip\n 0 fail\n 30 expect() calls\nRan 13 tests.\n";

test("the summary of bun test is read", () => {
  expect(readTally(RUNNER)).toEqual({ passed: 12, failed: 0, skipped: 1 });
});

test("a total is read instead of the summaries of the suites before it", () => {
  const output = `${RUNNER}\n4 passed, 1 failed, 0 skipped\n16 passed, 1 failed, 1 skipped\n`;
  expect(readTally(output)).toEqual({ passed: 16, failed: 1, skipped: 1 });
});

test("a command without a summary has failed", () => {
  expect(tallyOf("error: out of memory\n", 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test("a command that ends with another code than 0 has failed, whatever it reports", () => {
  expect(tallyOf(RUNNER, 1)).toEqual({ passed: 12, failed: 1, skipped: 1 });
  expect(tallyOf(" 3 pass\n 2 fail\n", 1)).toEqual({ passed: 3, failed: 2, skipped: 0 });
});

test("totals are added and printed in one line that is read again", () => {
  const sum = addTallies(
    { passed: 1, failed: 2, skipped: 3 },
    { passed: 4, failed: 0, skipped: 1 },
  );
  expect(formatTally(sum)).toBe("5 passed, 2 failed, 4 skipped");
  expect(readTally(formatTally(sum))).toEqual(sum);
});
