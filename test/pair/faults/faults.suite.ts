// Faults of hosts, connections, clocks and databases on a real pair under load. What clients were
// answered must be there afterwards, whichever host leads then.
import { beforeAll, describe, expect, test } from "bun:test";
import { testPromises } from "../../faults/shared/promises.ts";
import { chooseSize, createRandom, reportProgress, seed } from "../../support/suite-harness.ts";
import { FAULT_KINDS } from "./fault-kinds.ts";
import { FaultRun } from "./fault-run.ts";
import { checkFolders } from "./final-check.ts";
import { createHostClocks } from "./host-clocks.ts";
import { PairSystem } from "./pair-system.ts";
import { FAULT_PROMISES, FaultResults } from "./results.ts";

const FAULTS = Number(process.env["PAIR_FAULTS"] ?? chooseSize(FAULT_KINDS.length, 190, 8));
/** With the term of the default settings. */
const LONG_FAULTS = Number(process.env["PAIR_LONG_FAULTS"] ?? chooseSize(0, 10));
const SHORT_TERM = 1;
const LONG_TERM = 10;

const random = createRandom(seed);
const results = new FaultResults();
const clocks = createHostClocks();

const shuffle = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);

/** In a large run each fault as often as its share says; in a small one each at most once. */
function chooseFaults(count: number, termSeconds: number): (typeof FAULT_KINDS)[number][] {
  const { PAIR_FAULT: only } = process.env;
  const kinds = FAULT_KINDS.filter(
    ({ name, changesClock = false, isTakeover = false }) =>
      (only === undefined || name.includes(only)) &&
      (clocks !== null || !changesClock) &&
      // The long ones are for the time of a takeover.
      (termSeconds === SHORT_TERM || isTakeover),
  );
  const all = count <= kinds.length ? kinds : kinds.flatMap((kind) => Array(kind.share).fill(kind));
  const chosen: (typeof FAULT_KINDS)[number][] = [];
  while (chosen.length < count) chosen.push(...shuffle(all));
  return chosen.slice(0, count);
}

async function runFaults(count: number, termSeconds: number): Promise<void> {
  if (count === 0 || results.hasViolations) return;
  const system = await PairSystem.start({
    termSeconds,
    random,
    ...(clocks && { environment: clocks.environment }),
  });
  const run = new FaultRun(system, results, random, ({ host: { name } }, offsetMs) =>
    clocks?.set(name, offsetMs),
  );
  for (const [index, fault] of chooseFaults(count, termSeconds).entries()) {
    results.context = `seed ${seed}, term ${termSeconds} s, fault ${index + 1}: ${fault.name}`;
    if (process.env["PAIR_VERBOSE"] !== undefined) console.log(results.context);
    if (!(await run.run(fault)) || results.hasViolations) break;
    reportProgress("faults", index + 1, count);
  }
  await run.stopLoad();
  if (!results.hasViolations) await checkFolders(system, results);
}

describe("after faults of a pair under load", () => {
  beforeAll(async () => {
    await runFaults(FAULTS, SHORT_TERM);
    await runFaults(LONG_FAULTS, LONG_TERM);
    console.log(results.figures);
  });

  testPromises(FAULT_PROMISES, (promise) => results.violationsOf(promise));

  test("every fault happened", () => {
    if (results.hasViolations) return;
    expect(results.faultCount).toBe(FAULTS + LONG_FAULTS);
  });
});
