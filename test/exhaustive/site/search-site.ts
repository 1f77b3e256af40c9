import { searchBreadthFirst, type SearchResult } from "../search.ts";
import { makeStart } from "./action.ts";
import { listSteps, type CallKind } from "./steps.ts";

export const searchSite = (calls: CallKind, maxWorlds: number): Promise<SearchResult> =>
  searchBreadthFirst({
    start: makeStart(),
    keyOf: ({ key }) => key,
    listSteps: (world) => listSteps(world, calls),
    maxWorlds,
  });
