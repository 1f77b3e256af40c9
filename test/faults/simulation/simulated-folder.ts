import type { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedFile } from "./simulated-file.ts";

export type FolderEntry = SimulatedFile | SimulatedFolder;
type Names = Map<string, FolderEntry>;

/**
 * A folder's names, as processes see them and as a power cut leaves them for certain. What was made,
 * renamed or removed since the last sync may or may not be there after one.
 */
export class SimulatedFolder {
  mode = 0o700;
  #seen: Names = new Map();
  #safe: Names = new Map();
  #changes: ((names: Names) => void)[] = [];

  get(name: string): FolderEntry | undefined {
    return this.#seen.get(name);
  }

  names(): string[] {
    return [...this.#seen.keys()];
  }

  add(name: string, entry: FolderEntry): void {
    this.#change((names) => names.set(name, entry));
  }

  remove(name: string): void {
    this.#change((names) => names.delete(name));
  }

  /** One step: there is no moment, and no cut, with neither name or both. */
  rename(from: string, to: string): void {
    const entry = this.#seen.get(from);
    if (entry === undefined) throw new Error(`${from} is not there`);
    this.#change((names) => {
      names.delete(from);
      names.set(to, entry);
    });
  }

  /** What a sync under way will have saved; called when it returns. */
  stage(): () => void {
    const [names, count] = [new Map(this.#seen), this.#changes.length];
    return () => {
      this.#safe = names;
      this.#changes.splice(0, count);
    };
  }

  cutPower(dice: SeededRandom, done: Set<FolderEntry>): void {
    if (done.has(this)) return;
    done.add(this);
    const kept = new Map(this.#safe);
    for (const change of survivors(this.#changes, dice)) change(kept);
    this.#safe = kept;
    this.#seen = new Map(kept);
    this.#changes = [];
    for (const entry of kept.values()) {
      if (entry instanceof SimulatedFolder) entry.cutPower(dice, done);
      else if (!done.has(entry)) entry.cutPower(dice);
      done.add(entry);
    }
  }

  /** Every file below, with its path; one with two names comes twice. */
  *files(path: string): Generator<{ readonly path: string; readonly file: SimulatedFile }> {
    for (const [name, entry] of this.#seen) {
      const below = `${path}/${name}`;
      if (entry instanceof SimulatedFolder) yield* entry.files(below);
      else yield { path: below, file: entry };
    }
  }

  /** With all that is seen here taken for safe. */
  clone(copies: Map<FolderEntry, FolderEntry>): SimulatedFolder {
    const other = new SimulatedFolder();
    other.mode = this.mode;
    for (const [name, entry] of this.#seen) {
      const copy = copies.get(entry) ?? entry.clone(copies);
      copies.set(entry, copy);
      other.#seen.set(name, copy);
    }
    other.#safe = new Map(other.#seen);
    return other;
  }

  #change(change: (names: Names) => void): void {
    change(this.#seen);
    this.#changes.push(change);
  }
}

/** The first few of them, as a journaling file system would have it, or any of them at all. */
function survivors<T>(changes: readonly T[], dice: SeededRandom): readonly T[] {
  if (dice.chance(0.5)) return changes.slice(0, dice.intBetween(0, changes.length));
  return changes.filter(() => dice.chance(0.5));
}
