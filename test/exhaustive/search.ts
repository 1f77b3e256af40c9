// Breadth-first search of everything that can happen, from one start. Worlds with the same key are
// met once, so the first failure that is found has the shortest sequence of actions.

/** A reply or a state does not keep what was promised. */
class BrokenPromise extends Error {}

export function demand(isKept: boolean, promise: () => string): asserts isKept {
  if (!isKept) throw new BrokenPromise(promise());
}

export interface Step<W> {
  readonly action: string;
  /** The world after it; null: nothing changes. Throws if the action breaks a promise. */
  readonly perform: () => W | null | Promise<W | null>;
}

interface SearchOptions<W> {
  readonly start: W;
  /** Equal keys: from here on, the same happens in both worlds. */
  readonly keyOf: (world: W) => string;
  /** Everything that can happen next. */
  readonly listSteps: (world: W) => Iterable<Step<W>>;
  /** No level of the search is begun that would exceed so many worlds in all. */
  readonly maxWorlds: number;
}

interface SearchFailure {
  readonly actions: readonly string[];
  readonly message: string;
}

export interface SearchResult {
  /** Different worlds that were met. */
  readonly worlds: number;
  /** Actions that were tried. */
  readonly actions: number;
  /** All sequences of so many actions were tried. */
  readonly depth: number;
  /** Nothing new comes after them. */
  readonly isComplete: boolean;
  readonly failure: SearchFailure | null;
}

interface Node<W> {
  readonly world: W;
  readonly action: string;
  readonly parent: Node<W> | null;
}

export async function searchBreadthFirst<W>(options: SearchOptions<W>): Promise<SearchResult> {
  const { start, keyOf, listSteps, maxWorlds } = options;
  const known = new Set([keyOf(start)]);
  let level: Node<W>[] = [{ world: start, action: "", parent: null }];
  let [searched, actions, depth] = [0, 0, 0];
  const finish = (isComplete: boolean, failure: SearchFailure | null = null): SearchResult => ({
    worlds: known.size,
    actions,
    depth,
    isComplete,
    failure,
  });
  while (level.length > 0) {
    searched += level.length;
    const next: Node<W>[] = [];
    let newCount = 0;
    for (const node of level) {
      let current: string | null = null;
      try {
        for (const { action, perform } of listSteps(node.world)) {
          current = action;
          actions += 1;
          const performed = perform();
          const world = performed instanceof Promise ? await performed : performed;
          current = null;
          if (world === null || known.has(keyOf(world))) continue;
          known.add(keyOf(world));
          newCount += 1;
          // What is not searched further needs no memory.
          if (searched + newCount <= maxWorlds) next.push({ world, action, parent: node });
          else next.length = 0;
        }
      } catch (error) {
        const path = [...listActions(node), ...(current === null ? [] : [current])];
        return finish(false, { actions: path, message: describeError(error) });
      }
    }
    depth += 1;
    level = next;
    if (next.length < newCount) return finish(false);
  }
  return finish(true);
}

function listActions<W>(node: Node<W>): string[] {
  const actions: string[] = [];
  for (let { action, parent } = node; parent !== null; { action, parent } = parent)
    actions.unshift(action);
  return actions;
}

const describeError = (error: unknown): string =>
  error instanceof BrokenPromise || !(error instanceof Error)
    ? String(error)
    : (error.stack ?? error.message);

export function describeSearch({ worlds, actions, depth, isComplete }: SearchResult): string {
  const end = isComplete ? "nothing new comes after that" : "longer ones were not tried";
  return `${worlds} worlds, ${actions} actions: all sequences of up to ${depth}; ${end}`;
}

/** The sequence of actions, and what is wrong after it. */
export function describeFailure({ failure }: SearchResult): string | null {
  if (failure === null) return null;
  const { actions, message } = failure;
  return [...actions.map((action, index) => `${index + 1}. ${action}`), message].join("\n");
}
