// Which files decide the result of a job: those that it judges, and its tests.
import { ImportGraph } from "./import-graph.ts";

/**
 * These put the program together, and so import all of it: they decide that it starts, not what a
 * suite judges. What they import is therefore not derived.
 */
const ASSEMBLY =
  /^src\/(?:main\.ts|cli\/command-table\.ts|cli\/serve\/.*|http\/app\.ts|operations\/wire\.ts)$/;

/**
 * Pure functions, which `bun run test` and the models judge, and the store, which the fault suites
 * judge. Nearly everything imports them: another suite judges them only if it names them.
 */
const JUDGED_BY_NAME = /^src\/(?:domain|faults|license|rules|store|usage)\//;

interface Judge {
  readonly judges: "everything" | readonly string[];
  readonly tests: readonly string[];
}

export class DecisiveFiles {
  readonly #root: string;
  readonly #graph: ImportGraph;
  readonly #sources: readonly string[];
  readonly #known = new Map<Judge, ReadonlySet<string>>();

  constructor(root: string) {
    this.#root = root;
    this.#graph = new ImportGraph(root);
    this.#sources = scan(root, "src/**/*");
  }

  includes(judge: Judge, file: string): boolean {
    return judge.judges === "everything" || this.of(judge).has(file);
  }

  of(judge: Judge): ReadonlySet<string> {
    const known = this.#known.get(judge);
    if (known !== undefined) return known;
    const judged = judge.judges === "everything" ? [""] : judge.judges;
    const sources = this.#sources.filter((file) => judged.some((path) => file.startsWith(path)));
    const tests = judge.tests.flatMap((pattern) => scan(this.#root, pattern));
    const files = this.#graph
      .collect(sources, (from, to) => !ASSEMBLY.test(from) && !JUDGED_BY_NAME.test(to))
      .union(this.#graph.collect(tests, (_, to) => to.startsWith("test/")));
    this.#known.set(judge, files);
    return files;
  }
}

const scan = (root: string, pattern: string): string[] =>
  [...new Bun.Glob(pattern).scanSync(root)].toSorted();
