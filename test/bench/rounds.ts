// Runs servers in turns, and compares the results of each round: figures of one minute cannot be
// compared with those of another.
import { formatColumns, formatNumber, median, type Figure } from "./goals.ts";
import type { LoadKind } from "./load-plan.ts";
import type { RunResult } from "./run-load.ts";
import type { ComparedServer, ServerLoad } from "./servers.ts";

type Metric = "perSecond" | "p50" | "p99" | "max" | "cpu" | "written";

/** Which results: of one server, one load and one number of connections. */
export interface Series {
  readonly server: string;
  readonly kind: LoadKind;
  readonly connections: number;
}

const LOAD_NAMES: Readonly<Record<LoadKind, string>> = {
  heartbeat: "heartbeats",
  cycle: "requests of cycles",
  borrow: "borrows",
  consumption: "consumptions",
  denial: "denials",
  health: "health checks",
  contest: "requests of contests",
};

const keyOf = ({ server, kind, connections }: Series): string => `${kind} ${connections} ${server}`;

export class Rounds {
  readonly #results = new Map<string, RunResult[]>();

  /**
   * Runs each server once. The order is reversed in every other round, so that no server always
   * runs after the same one.
   */
  async run(servers: readonly ComparedServer[], round: number, load: ServerLoad): Promise<void> {
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
      const key = keyOf({ ...load, server: server.name });
      this.#results.set(key, [...(this.#results.get(key) ?? []), await server.run(load)]);
      await server.waitUntilIdle();
    }
  }

  /** One value for each round. */
  values(series: Series, metric: Metric): number[] {
    return (this.#results.get(keyOf(series)) ?? []).map((result) => result[metric]);
  }

  /** The median of the ratios of all rounds. */
  ratio(series: Series, other: Series, metric: Metric): number {
    const references = this.values(other, metric);
    return median(
      this.values(series, metric).map((value, round) => value / (references[round] ?? NaN)),
    );
  }

  /** How many answers a server sent in all rounds. */
  answers(server: string): number {
    return this.#resultsOf(server).reduce((sum, { answered }) => sum + answered, 0);
  }

  /** Shows how busy the load generator was with a server: it should not be the limit. */
  generatorLoad(server: string): string {
    const results = this.#resultsOf(server);
    const rate = Math.max(...results.map(({ perSecond }) => perSecond));
    const share = Math.max(...results.map((result) => result.generatorCpuShare));
    return `${server} ${formatNumber(rate)}/s with ${(share * 100).toFixed(0)} % of a processor`;
  }

  table(): string {
    const head = ["", "req/s", "p50 ms", "p99 ms", "max ms", "cpu ms/1,000", "MB/100,000"];
    const rows = [...this.#results].map(([key, all]) => {
      const of = (metric: Metric): number => median(all.map((result) => result[metric]));
      const longest = Math.max(...all.map(({ max }) => max));
      const written = of("written") / 10;
      const figures = [of("perSecond"), of("p50"), of("p99"), longest, of("cpu"), written];
      return [key, ...figures.map(formatNumber)];
    });
    return formatColumns([head, ...rows]);
  }

  #resultsOf(server: string): RunResult[] {
    return [...this.#results]
      .filter(([key]) => key.endsWith(` ${server}`))
      .flatMap(([, results]) => results);
  }
}

/** Requests per second and processor time, as ratios to those of another server. */
export function compareSeries(rounds: Rounds, series: Series, other: Series): Figure[] {
  const at = `${LOAD_NAMES[series.kind]} at ${series.connections} connections`;
  const figure = (what: string, metric: Metric): Figure => ({
    what: `${what} of ${at}, compared with ${other.server}`,
    value: rounds.ratio(series, other, metric),
    unit: "x",
    goal: null,
  });
  return [figure("rate", "perSecond"), figure("processor time", "cpu")];
}
