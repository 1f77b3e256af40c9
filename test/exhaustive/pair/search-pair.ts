import { searchBreadthFirst, type SearchResult, type Step } from "../search.ts";
import { PairRun } from "./pair-run.ts";
import { prepareDisk } from "./prepared-disk.ts";
import { runWithoutTimers } from "./without-timers.ts";

/** What is known of a pair after some actions: they can be performed again. */
interface PairWorld {
  readonly actions: readonly string[];
  /** What can happen next. */
  readonly next: readonly string[];
  readonly key: string;
}

/** From a pair in which alpha leads and beta follows. */
export async function searchPair(maxWorlds: number): Promise<SearchResult> {
  const prepared = await prepareDisk();
  const perform = async (actions: readonly string[]): Promise<PairWorld> => {
    const run = await PairRun.start(prepared);
    for (const action of actions) await run.perform(action);
    return { actions, next: run.listActions(), key: run.key };
  };
  return runWithoutTimers(async () =>
    searchBreadthFirst<PairWorld>({
      start: await perform([]),
      keyOf: ({ key }) => key,
      listSteps: ({ actions, next }): readonly Step<PairWorld>[] =>
        next.map((action) => ({ action, perform: () => perform([...actions, action]) })),
      maxWorlds,
    }),
  );
}
