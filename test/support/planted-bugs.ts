// Known bugs, one at a time: each is an edit of the sources, made in a copy of them, where one
// program must detect it. `test/faults/planted-bugs` does it with fault suites, and
// `*/planted-bugs.slow.ts` with comparisons of the rules with a model.
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import type { SourceEdit } from "./source-edits.ts";
import { copySources } from "./sources.ts";
import { atEnd, makeTempFolder } from "./suite-harness.ts";

/** A bug as an edit of the sources, which a test must detect. */
export interface PlantedBug extends SourceEdit {
  readonly name: string;
}

/** Long enough for any suite to fail, short enough to notice one that hangs. */
const TIMEOUT = 30 * 60_000;

interface Detection {
  readonly bug: PlantedBug;
  /** What is copied; the program runs at the root of the copy. */
  readonly paths: readonly string[];
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What the program writes as soon as it has detected the bug: it is ended then. */
  readonly pattern: RegExp;
}

interface DetectionResult {
  /** Null: the bug was not detected. */
  readonly match: RegExpExecArray | null;
  readonly output: string;
  /** Processor time, as far as the program has waited for its own processes. */
  readonly seconds: number;
}

/** Runs a program in a copy of the sources with the bug. */
export async function detectBug(detection: Detection): Promise<DetectionResult> {
  const { bug, paths, command, env = process.env, pattern } = detection;
  // A copy for each program: in a shared one, two of them would build the binary at the same time.
  const copy = makeTempFolder();
  copySources(copy, paths, [bug]);
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: copy,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: TIMEOUT,
    // The folder of a suite is removed with the copy, whatever becomes of the suite.
    env: { ...env, BERTH_SUITE_ROOT: copy },
  });
  atEnd(() => child.kill());
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of stream) {
      output += decoder.decode(part, { stream: true });
      // A suite that is stopped cleans up after itself.
      if (pattern.test(output)) child.kill();
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr), child.exited]);
  rmSync(copy, { recursive: true, force: true });
  const seconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  return { match: pattern.exec(output), output, seconds };
}

interface PlantedBugTests {
  /** What detects the bugs: the titles are this and the name of a bug. */
  readonly title: string;
  readonly bugs: readonly PlantedBug[];
  /** The folder with the random test. */
  readonly testFolder: string;
  /** A program that writes `differs` as soon as it detects a bug. */
  readonly search: string;
}

/** One test for each bug: the program finds it. */
export function testPlantedBugs({ title, bugs, testFolder, search }: PlantedBugTests): void {
  const paths = ["src", testFolder, "test/support", "test/faults", "package.json", "tsconfig.json"];
  test.each(bugs.map((bug) => [bug.name, bug] as const))(`${title}: %s`, async (_name, bug) => {
    const command = ["-e", search];
    const { match, output } = await detectBug({ bug, paths, command, pattern: /^differs$/m });
    expect(match === null ? output : "detected").toBe("detected");
  });
}
