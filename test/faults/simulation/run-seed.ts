import { runLeftoverScenario } from "./leftover-scenario.ts";
import { runPairScenario } from "./pair/pair-scenario.ts";
import { SimulationRun } from "./simulation-run.ts";
import { ProcessKilledError } from "./simulated-process.ts";
import { SimulationViolation, type SimulationFigures, type SimulationPromise } from "./promises.ts";

export interface SimulationResult {
  readonly seed: number;
  /** A hash of everything that happened, up to the end or the violation. */
  readonly digest: string;
  readonly violation: { readonly promise: SimulationPromise; readonly detail: string } | null;
  readonly figures: SimulationFigures;
}

export async function runSeed(seed: number, operations: number): Promise<SimulationResult> {
  const run = new SimulationRun(seed);
  const recordUncaught = (error: unknown): void => {
    // Unfinished work of a killed process has no caller to catch the error.
    if (!(error instanceof ProcessKilledError)) run.recordUncaught(error);
  };
  process.on("unhandledRejection", recordUncaught);
  let violation: SimulationResult["violation"] = null;
  try {
    // The shortest first: a planted bug of a pair shows at once.
    await runPairScenario(seed);
    await run.run(operations);
    await runLeftoverScenario(seed);
  } catch (error) {
    const promise = error instanceof SimulationViolation ? error.promise : "answers";
    const found = error instanceof SimulationViolation ? error.message : errorText(error);
    violation = { promise, detail: `SEED=${seed} ${run.progressText}: ${found}` };
  } finally {
    process.off("unhandledRejection", recordUncaught);
  }
  return { seed, digest: run.machine.digest(), violation, figures: run.machine.figures };
}

const errorText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
