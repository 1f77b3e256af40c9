// What each job took in the last `bun run test:all --profile`, which writes the figures.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Seconds of wall time, beside other jobs, and of processor time. */
export type Measured = Readonly<
  Record<string, { readonly wall: number; readonly processor: number }>
>;

const FILE = "test/ci/measured.json";

export function readMeasured(root: string): Measured {
  const path = join(root, FILE);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Measured) : {};
}

/** Keeps the figures of jobs that were not run this time, if they still exist. */
export function writeMeasured(root: string, measured: Measured, jobs: ReadonlySet<string>): void {
  const rows = Object.entries({ ...readMeasured(root), ...measured })
    .filter(([name]) => jobs.has(name))
    .map(([name, { wall, processor }]) => {
      const figures = { wall: Math.ceil(wall), processor: Math.ceil(processor) };
      return `  ${JSON.stringify(name)}: ${JSON.stringify(figures)}`;
    });
  writeFileSync(join(root, FILE), `{\n${rows.toSorted().join(",\n")}\n}\n`);
}
