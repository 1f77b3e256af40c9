/** How many tests passed, failed and were skipped. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const EMPTY_TALLY: Tally = { passed: 0, failed: 0, skipped: 0 };

export const addTallies = (a: Tally, b: Tally): Tally => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});

export const formatTally = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** What a command that ran tests reports; null: it ended without a summary. */
export function readTally(output: string): Tally | null {
  return readTotal(output) ?? readTestRunner(output);
}

/**
 * What a command reports that ended with this code. One without a summary has failed; so has one
 * that reports no failed test and yet ended with another code than 0.
 */
export function tallyOf(output: string, code: number): Tally {
  const tally = readTally(output);
  if (tally === null) return { passed: 0, failed: 1, skipped: 0 };
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

/** The line of `formatTally`; the last one is the total. */
function readTotal(output: string): Tally | null {
  const [, passed, failed, skipped = "0"] =
    [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1) ?? [];
  if (passed === undefined) return null;
  return { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
}

/** The last lines of `bun test`: ` 12 pass`, ` 1 skip` and ` 0 fail`. */
function readTestRunner(output: string): Tally | null {
  const count = (word: string): number | null => {
    const line = [...output.matchAll(new RegExp(`^ (\\d+) ${word}$`, "gm"))].at(-1);
    return line === undefined ? null : Number(line[1]);
  };
  const passed = count("pass");
  if (passed === null) return null;
  return { passed, failed: count("fail") ?? 0, skipped: count("skip") ?? 0 };
}
