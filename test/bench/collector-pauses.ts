// Measures the pauses of the garbage collector under load. The runtime writes one line for each
// time that it stopped all JavaScript; a collection can stop it several times.
import { buildBinary } from "../support/binary.ts";
import { atMost, formatColumns, formatNumber, median, type Figure } from "./goals.ts";
import type { LoadKind } from "./load-plan.ts";
import { BenchServer } from "./servers.ts";

/** The variable makes the runtime log its collections to the standard error. */
const LOGGED = ["env", "BUN_JSC_logGC=1"];
const PAUSE_LIMIT_MS = 8;

/** An eden collection looks at new objects only, a full one at all. */
const COLLECTION_KINDS = ["eden", "full"] as const;

export interface Collection {
  readonly kind: (typeof COLLECTION_KINDS)[number];
  /** The longest stop, in milliseconds. */
  readonly longestStop: number;
  /** All its stops together, in milliseconds. */
  readonly allStops: number;
}

/** The complete collections of a log. */
export function parseCollections(log: string): Collection[] {
  // From the start of a collection to its end, without the start of another.
  const complete = /=> (Eden|Full)Collection,((?:(?!Collection,)[^])*?) END\]/g;
  return [...log.matchAll(complete)].map(([, kind, text = ""]) => {
    const stops = [...text.matchAll(/\bp=([\d.]+)ms/g)].map(([, milliseconds]) =>
      Number(milliseconds),
    );
    return {
      kind: kind === "Full" ? "full" : "eden",
      longestStop: Math.max(...stops),
      allStops: stops.reduce((sum, stop) => sum + stop, 0),
    };
  });
}

interface PauseOptions {
  readonly registrations: number;
  readonly kinds: readonly LoadKind[];
  readonly connections: number;
  readonly seconds: number;
  readonly hasGoal: boolean;
}

export interface PauseResult {
  readonly figures: readonly Figure[];
  readonly text: string;
  readonly wrong: readonly string[];
}

/** Starts a server of its own, so that no other measurement runs with the log. */
export async function measurePauses(folder: string, options: PauseOptions): Promise<PauseResult> {
  const { registrations, kinds, connections, seconds, hasGoal } = options;
  const program = [...LOGGED, buildBinary()];
  const server = await BenchServer.startLicenseServer("berth", program, folder, registrations);
  const startLog = server.errorOutput().length;
  for (const kind of kinds) await server.run({ kind, connections, seconds });
  const collections = parseCollections(server.errorOutput().slice(startLog));
  await server.kill();
  const figures: Figure[] = [];
  const rows = [["collections", "count", "longest stop ms", "worst", "all stops ms", "worst"]];
  for (const kind of COLLECTION_KINDS) {
    const ofKind = collections.filter((collection) => collection.kind === kind);
    const longest = ofKind.map(({ longestStop }) => longestStop);
    const all = ofKind.map(({ allStops }) => allStops);
    const cells = [
      ofKind.length,
      median(longest),
      Math.max(...longest),
      median(all),
      Math.max(...all),
    ];
    rows.push([kind, ...cells.map(formatNumber)]);
    // A full collection is rare: there can be none in a short run.
    if (ofKind.length === 0) continue;
    const what = `pause of ${kind} collections at ${formatNumber(registrations)} registrations`;
    const goal = hasGoal ? atMost(PAUSE_LIMIT_MS) : null;
    figures.push(
      { what: `${what}, median`, value: median(longest), unit: "ms", goal },
      { what: `${what}, longest`, value: Math.max(...longest), unit: "ms", goal: null },
    );
  }
  return { figures, text: formatColumns(rows), wrong: server.wrong };
}
