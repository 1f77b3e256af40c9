// What `bun test` printed about each test file.

/** The line with which `bun test` begins the output of a file. */
const HEADING = /^(\S+\.(?:test|slow|suite)\.[jt]sx?):$/;
/** What follows is about all files. */
const SUMMARY = /^(?:\d+ tests? (?:failed|skipped|todo):| \d+ pass)$/;
/** A test, an error outside of tests, or a file that could not be run to its end. */
const FAILURE = /^\(fail\) |^# Unhandled error|^✗ /;

export interface FailedFile {
  readonly path: string;
  /** How many failures are printed. */
  readonly failures: number;
  /** What was printed while the file ran, without the tests that passed. */
  readonly output: string;
}

/** The files with a failure, each once. */
export function findFailedFiles(output: string): FailedFile[] {
  const sections = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of output.split("\n")) {
    const path = HEADING.exec(line)?.[1] ?? /^✗ (\S+) \(/.exec(line)?.[1];
    if (path !== undefined) {
      current = sections.get(path) ?? [];
      sections.set(path, current);
    }
    if (SUMMARY.test(line)) current = [];
    if (!HEADING.test(line)) current.push(line);
  }
  return [...sections].flatMap(([path, lines]) => {
    const failures = lines.filter((line) => FAILURE.test(line)).length;
    if (failures === 0) return [];
    const own = lines.filter((line) => !line.startsWith("(pass) "));
    const others = [...sections].filter(([other]) => other !== path);
    // `bun test --parallel` prints a text now and then below the heading of a later file.
    const late = others.flatMap(([, other]) => textsBetweenResults(other).filter(isFrom(path)));
    return [{ path, failures, output: [...own, ...late].join("\n").trim() }];
  });
}

const textsBetweenResults = (lines: readonly string[]): string[] =>
  lines.join("\n").split(/^\((?:pass|fail|skip|todo)\) .*$/m);

/** Whether a line of a stack trace names the file. */
const isFrom = (path: string) => (text: string) => text.includes(`/${path}:`);

/** The tests that were not run, with the reason in the title. */
export const findSkippedTests = (output: string): string[] =>
  output.split("\n").filter((line) => line.startsWith("(skip) "));
