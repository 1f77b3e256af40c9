import { leaveLeftovers } from "./simulated-leftovers.ts";
import { Life } from "./simulated-life.ts";
import { Dead } from "./simulated-process.ts";
import { Broken, type Figures, type PromiseName } from "./simulated-promises.ts";

export interface Lived {
  readonly seed: number;
  /** Of everything that happened, up to the end or to what was broken. */
  readonly digest: string;
  readonly broken: { readonly promise: PromiseName; readonly detail: string } | null;
  readonly figures: Figures;
}

export async function liveOnce(seed: number, operations: number): Promise<Lived> {
  const life = new Life(seed);
  const uncaught = (error: unknown): void => {
    // What a dead process leaves undone is nobody's to catch.
    if (!(error instanceof Dead)) life.threw(error);
  };
  process.on("unhandledRejection", uncaught);
  let broken: Lived["broken"] = null;
  try {
    await life.live(operations);
    await leaveLeftovers(seed);
  } catch (error) {
    const promise = error instanceof Broken ? error.promise : "answers";
    const found = error instanceof Broken ? error.message : errorText(error);
    broken = { promise, detail: `SEED=${seed} ${life.place}: ${found}` };
  } finally {
    process.off("unhandledRejection", uncaught);
  }
  return { seed, digest: life.machine.digest(), broken, figures: life.machine.figures };
}

const errorText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
