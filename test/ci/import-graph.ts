// The imports between the files of the repository.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const IMPORT_STATEMENT =
  /^(?:import|export)\b[^;]*?\bfrom\s*["'][^"']+["'][^;\n]*;?|^import\s*["'][^"']+["'];?/gm;
const FILE_NAME = /["'`]([\w./@-]+\.\w+)["'`]/g;

/** Paths are relative to `root`. */
export class ImportGraph {
  readonly #root: string;
  readonly #imports = new Map<string, readonly string[]>();

  constructor(root: string) {
    this.#root = root;
  }

  /** The files, and what they import directly or through others, as far as `isFollowed`. */
  collect(
    files: Iterable<string>,
    isFollowed: (from: string, to: string) => boolean = () => true,
  ): Set<string> {
    const found = new Set<string>();
    const waiting = [...files];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (found.has(path)) continue;
      found.add(path);
      const from = path;
      waiting.push(...this.importsOf(path).filter((to) => isFollowed(from, to)));
    }
    return found;
  }

  /** What a file imports by value; of a test, also the files that it names, as programs to start. */
  importsOf(path: string): readonly string[] {
    const known = this.#imports.get(path);
    if (known !== undefined) return known;
    const imports = /\.tsx?$/.test(path) && this.#isFile(path) ? this.#read(path) : [];
    this.#imports.set(path, imports);
    return imports;
  }

  #read(path: string): string[] {
    const text = readFileSync(join(this.#root, path), "utf8");
    const transpiler = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" });
    const imported = transpiler.scanImports(text).map((found) => found.path);
    const named = path.startsWith("test/")
      ? [...text.replaceAll(IMPORT_STATEMENT, "").matchAll(FILE_NAME)].map(([, name = ""]) => name)
      : [];
    return [...imported.filter((name) => name.startsWith(".")), ...named]
      .map((name) => join(dirname(path), name))
      .filter((target) => this.#isFile(target));
  }

  #isFile(path: string): boolean {
    const absolute = join(this.#root, path);
    return existsSync(absolute) && statSync(absolute).isFile();
  }
}
