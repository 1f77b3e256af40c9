// Runs every `step`-th seed from `from` to before `to`, and prints one line of JSON for each.
import { runSeed } from "./run-seed.ts";

export interface SeedRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const OPERATIONS = 10_000;

if (import.meta.main) {
  const { from, to, step } = JSON.parse(process.argv[2] ?? "") as SeedRange;
  for (let current = from; current < to; current += step) {
    console.log(JSON.stringify(await runSeed(current, OPERATIONS)));
  }
}
