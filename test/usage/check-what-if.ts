import { finishSteps } from "../../src/usage/report/report.ts";
import { replayRecorded } from "../../src/usage/what-if/replay-recorded.ts";
import type { ReplayDifference } from "../../src/usage/what-if/what-if.ts";
import { SimulatedDemand } from "./simulated-demand.ts";

export interface ReplayTotals {
  readonly decisions: number;
  readonly refusals: number;
  readonly setBacks: number;
  /** With the seed of the site. */
  readonly differences: readonly (ReplayDifference & { readonly seed: number })[];
}

/** Simulates sites, and decides their records again. */
export function replaySites(first: number, count: number, setsClockBack: boolean): ReplayTotals {
  let [decisions, refusals, setBacks] = [0, 0, 0];
  const differences: ReplayTotals["differences"][number][] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const site = new SimulatedDemand(seed, { setsClockBack });
    const check = finishSteps(replayRecorded(site.simulate(120)));
    decisions += check.refusals + check.grants;
    refusals += check.refusals;
    setBacks += site.setBacks;
    differences.push(...check.differences.map((difference) => ({ seed, ...difference })));
  }
  return { decisions, refusals, setBacks, differences };
}
