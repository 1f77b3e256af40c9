// Which faults are injected into which calls. A soak injects every fault into every call; a usual
// run leaves out those that reach no other code than the faults it keeps.
import { isSoak } from "../../support/suite-harness.ts";
import type { Scenario } from "./scenarios.ts";
import { faultsFor, type InjectedFault, type TracedCall } from "./strace.ts";

interface ChosenFault {
  readonly call: TracedCall;
  readonly fault: InjectedFault;
}

/** `turn`: a number that differs between scenarios, so that they begin with different faults. */
export const chooseFaults = (
  scenario: Scenario,
  calls: readonly TracedCall[],
  turn: number,
): ChosenFault[] =>
  (isSoak ? calls : shortenSeries(calls)).flatMap((call, index) => {
    const faults = faultsFor(call).filter((fault) => scenario.faults?.includes(fault) ?? true);
    return chooseInTurn(faults, scenario.faultsPerCall, turn + index).map((fault) => ({
      call,
      fault,
    }));
  });

/** One fault at each call, or a kill and one error, or all of them. */
function chooseInTurn(
  faults: readonly InjectedFault[],
  count: Scenario["faultsPerCall"],
  turn: number,
): readonly InjectedFault[] {
  if (isSoak || count === "all") return faults;
  const [kill, ...errors] = faults;
  if (count === "two" && kill !== undefined && errors.length > 0)
    return [kill, ...errors.slice(turn % errors.length).slice(0, 1)];
  return faults.slice(turn % faults.length).slice(0, 1);
}

/** A file that is written line by line, in a loop, is hit in its first, middle and last line. */
function shortenSeries(calls: readonly TracedCall[]): TracedCall[] {
  const series: TracedCall[][] = [];
  for (const call of calls) {
    const previous = series.at(-1);
    const last = previous?.at(-1);
    if (call.name === "write" && last?.name === "write" && last.path === call.path)
      previous?.push(call);
    else series.push([call]);
  }
  return series.flatMap((writes) =>
    writes.filter((_, index) =>
      [0, Math.floor(writes.length / 2), writes.length - 1].includes(index),
    ),
  );
}
