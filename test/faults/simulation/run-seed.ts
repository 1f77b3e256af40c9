import { runLeftoverScenario } from "./leftover-scenario.ts";
import { SimulationRun } from "./simulation-run.ts";
import { ProcessKilledError } from "./simulated-process.ts";
import { SimulationViolation, type SimulationFigures, type SimulationPromise } from "./promises.ts";

export interface SimulationResult {
  readonly seed: number;
  /** Of everything that happened, up to the end or to what was broken. */
  readonly digest: string;
  readonly violation: { readonly promise: SimulationPromise; readonly detail: string } | null;
  readonly figures: SimulationFigures;
}

export async function runSeed(seed: number, operations: number): Promise<SimulationResult> {
  const life = new SimulationRun(seed);
  const uncaught = (error: unknown): void => {
    // What a dead process leaves undone is nobody's to catch.
    if (!(error instanceof ProcessKilledError)) life.recordUncaught(error);
  };
  process.on("unhandledRejection", uncaught);
  let broken: SimulationResult["violation"] = null;
  try {
    await life.run(operations);
    await runLeftoverScenario(seed);
  } catch (error) {
    const promise = error instanceof SimulationViolation ? error.promise : "answers";
    const found = error instanceof SimulationViolation ? error.message : errorText(error);
    broken = { promise, detail: `SEED=${seed} ${life.progressText}: ${found}` };
  } finally {
    process.off("unhandledRejection", uncaught);
  }
  return { seed, digest: life.machine.digest(), violation: broken, figures: life.machine.figures };
}

const errorText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
