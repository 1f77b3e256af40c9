import { runSeed } from "./shorten.ts";

/** Runs sequences of consecutive seeds; returns how often each kind of decision was made. */
export function runSeeds(first: number, count: number, steps: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let seed = first; seed < first + count; seed += 1) {
    for (const decision of runSeed(seed, steps)) {
      const kind = nameKind(decision);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  return counts;
}

/** Without the names of users, groups and licenses. */
function nameKind(decision: string): string {
  if (decision.startsWith("[")) {
    const [kind, ...fields] = JSON.parse(decision) as readonly unknown[];
    return kind === "place" ? (fields.at(-1) === null ? "waiting" : "held") : String(kind);
  }
  const [, call = "", reason = ""] = /^(\w+) \S+: (.*?)(?: \d+)?$/.exec(decision) ?? [];
  return call === "" ? decision : `${call}: ${reason.replace(/ g[a-d]$/, "")}`;
}
