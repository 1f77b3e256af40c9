// Compares the hash tables of `src/domain/index` with maps. Each runs in a process of its own, in
// turns, because the pauses of the garbage collector depend on everything in its memory.
import { join } from "node:path";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { parseCollections } from "./collector-pauses.ts";
import { atLeast, formatColumns, formatNumber, median, type Figure } from "./goals.ts";
import { CHANGES_MARK, type TableKind, type TableResult } from "./table-process.ts";

const OWN: TableKind = "LargeMap";
const OTHERS: readonly TableKind[] = ["Map", "1,024 Maps"];
/** With fewer registrations, every kind is good enough. */
const GOAL_FROM = 1_000_000;

interface Run extends TableResult {
  /** Pauses (ms) by eden collections. */
  readonly median: number;
  readonly longest: number;
}

export async function measureTables({ rounds, registrations }: BenchSize): Promise<PartResult> {
  const count = Math.max(...registrations);
  const kinds = [OWN, ...OTHERS];
  const runs = new Map<TableKind, Run[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      runs.get(kind)?.push(await runTable(kind, count));
    }
  }
  const valuesOf = (kind: TableKind, member: Exclude<keyof Run, "isRight">): number[] =>
    (runs.get(kind) ?? []).map((run) => run[member]);
  /** Each round is compared with itself. */
  const ratio = (kind: TableKind, member: Exclude<keyof Run, "isRight">): number => {
    const own = valuesOf(OWN, member);
    return median(valuesOf(kind, member).map((value, round) => value / (own[round] ?? NaN)));
  };
  const rows = kinds.map((kind) => [
    kind,
    formatNumber(median(valuesOf(kind, "median"))),
    formatNumber(Math.max(...valuesOf(kind, "longest"))),
    formatNumber(median(valuesOf(kind, "cycleTime"))),
    formatNumber(median(valuesOf(kind, "memory")) / 2 ** 20),
  ]);
  const titles = [`${formatNumber(count)} entries`, "pause ms", "longest", "cycle µs", "MiB"];
  return {
    figures: OTHERS.flatMap((kind): Figure[] => [
      {
        what: `pause of eden collections with ${kind} ÷ that with ${OWN}`,
        value: ratio(kind, "median"),
        unit: "x",
        goal: count >= GOAL_FROM ? atLeast(2) : null,
      },
      {
        what: `processor time of a cycle with ${kind} ÷ that with ${OWN}`,
        value: ratio(kind, "cycleTime"),
        unit: "x",
        goal: null,
      },
      {
        what: `memory with ${kind} ÷ that with ${OWN}`,
        value: ratio(kind, "memory"),
        unit: "x",
        goal: null,
      },
    ]),
    text: formatColumns([titles, ...rows]),
    wrong: kinds
      .filter((kind) => runs.get(kind)?.some(({ isRight }) => !isRight))
      .map((kind) => `${kind} lost an entry, or kept one that was removed`),
  };
}

async function runTable(kind: TableKind, count: number): Promise<Run> {
  const program = join(import.meta.dir, "table-process.ts");
  const { stdout, stderr, exited } = Bun.spawn([process.execPath, program, kind, String(count)], {
    env: { ...process.env, BUN_JSC_logGC: "1" },
    stderr: "pipe",
  });
  const [output, log] = await Promise.all([stdout.text(), stderr.text()]);
  const code = await exited;
  if (code !== 0) throw new Error(`a process with ${kind} exited with code ${code}: ${log}`);
  const [, changes = ""] = log.split(CHANGES_MARK);
  const pauses = parseCollections(changes)
    .filter(({ kind: collection }) => collection === "eden")
    .map(({ longestStop }) => longestStop);
  const result = JSON.parse(output) as TableResult;
  return { ...result, median: median(pauses), longest: Math.max(...pauses) };
}
