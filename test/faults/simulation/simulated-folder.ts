import type { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedFile } from "./simulated-file.ts";

export type FolderEntry = SimulatedFile | SimulatedFolder;
type Names = Map<string, FolderEntry>;

/**
 * A folder's names, as processes see them and as they certainly survive a power cut. Names that
 * were added, renamed or removed since the last sync may or may not survive.
 */
export class SimulatedFolder {
  mode = 0o700;
  #visible: Names = new Map();
  #safe: Names = new Map();
  #changes: ((names: Names) => void)[] = [];

  get(name: string): FolderEntry | undefined {
    return this.#visible.get(name);
  }

  names(): string[] {
    return [...this.#visible.keys()];
  }

  add(name: string, entry: FolderEntry): void {
    this.#change((names) => names.set(name, entry));
  }

  remove(name: string): void {
    this.#change((names) => names.delete(name));
  }

  /** Atomic: neither a process nor a power cut ever sees no name or both names. */
  rename(from: string, to: string): void {
    const entry = this.#visible.get(from);
    if (entry === undefined) throw new Error(`there is no entry ${from}`);
    this.#change((names) => {
      names.delete(from);
      names.set(to, entry);
    });
  }

  /** Returns the function that saves the current names when the sync returns. */
  stage(): () => void {
    const [names, count] = [new Map(this.#visible), this.#changes.length];
    return () => {
      this.#safe = names;
      this.#changes.splice(0, count);
    };
  }

  cutPower(random: SeededRandom, visited: Set<FolderEntry>): void {
    if (visited.has(this)) return;
    visited.add(this);
    const survivingNames = new Map(this.#safe);
    for (const change of pickSurvivors(this.#changes, random)) change(survivingNames);
    this.#safe = survivingNames;
    this.#visible = new Map(survivingNames);
    this.#changes = [];
    for (const entry of survivingNames.values()) {
      if (entry instanceof SimulatedFolder) entry.cutPower(random, visited);
      else if (!visited.has(entry)) entry.cutPower(random);
      visited.add(entry);
    }
  }

  /**
   * Every file in this folder and its subfolders, with its path; a file with two names comes twice.
   */
  *files(path: string): Generator<{ readonly path: string; readonly file: SimulatedFile }> {
    for (const [name, entry] of this.#visible) {
      const entryPath = `${path}/${name}`;
      if (entry instanceof SimulatedFolder) yield* entry.files(entryPath);
      else yield { path: entryPath, file: entry };
    }
  }

  /** Copies the folder; all visible names are safe in the copy. */
  clone(copies: Map<FolderEntry, FolderEntry>): SimulatedFolder {
    const other = new SimulatedFolder();
    other.mode = this.mode;
    for (const [name, entry] of this.#visible) {
      const copy = copies.get(entry) ?? entry.clone(copies);
      copies.set(entry, copy);
      other.#visible.set(name, copy);
    }
    other.#safe = new Map(other.#visible);
    return other;
  }

  #change(change: (names: Names) => void): void {
    change(this.#visible);
    this.#changes.push(change);
  }
}

/** Either a prefix of the changes, as on a journaling file system, or any of them. */
function pickSurvivors<T>(changes: readonly T[], random: SeededRandom): readonly T[] {
  if (random.chance(0.5)) return changes.slice(0, random.intBetween(0, changes.length));
  return changes.filter(() => random.chance(0.5));
}
