import type { SeededRandom } from "../../support/seeded-random.ts";

/** What a disk writes whole or not at all. */
export const SECTOR = 512;

/** What a sync that is under way will have saved when it returns. */
export interface StagedWrites {
  readonly sectors: readonly {
    readonly index: number;
    readonly stamp: number;
    readonly bytes: Uint8Array;
  }[];
  readonly size: number;
  readonly sizeStamp: number;
}

/**
 * A file as a kernel and a disk hold it: what processes see, and what a power cut leaves for
 * certain. In between lie the sectors that were changed and not saved yet.
 */
export class SimulatedFile {
  mode = 0o600;
  #seen = new Uint8Array(0);
  #size = 0;
  #safe = new Uint8Array(0);
  #safeSize = 0;
  /** Sectors that a sync has to save, with when they were changed. */
  #dirty = new Map<number, number>();
  /** Something may be seen that no sync will save. */
  #isLost = false;
  /** When the size was changed; 0: it needs no saving. */
  #resized = 0;
  #stamp = 0;
  /** What a sector held before it was last saved. */
  #before = new Map<number, Uint8Array>();
  /** The bytes are another file's too until one of them changes. */
  #shared = false;

  get size(): number {
    return this.#size;
  }

  get needsSync(): boolean {
    return this.#dirty.size > 0 || this.#resized > 0;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#seen.slice(0, this.#size);
  }

  /** The same for a look that keeps nothing. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#seen.subarray(0, this.#size);
  }

  append(bytes: Uint8Array): void {
    this.overwrite(this.#size, bytes);
  }

  overwrite(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#own();
    const end = offset + bytes.length;
    this.#seen = grown(this.#seen, end);
    this.#seen.set(bytes, offset);
    this.#stamp += 1;
    if (end > this.#size) {
      this.#size = end;
      this.#resized = this.#stamp;
    }
    for (let place = sectorOf(offset); place <= sectorOf(end - 1); place += 1) {
      this.#dirty.set(place, this.#stamp);
    }
  }

  truncate(size: number): void {
    if (size === this.#size) return;
    this.#own();
    this.#stamp += 1;
    this.#resized = this.#stamp;
    this.#seen = grown(this.#seen, size);
    this.#seen.fill(0, size, Math.max(size, this.#size));
    // What was saved behind the size that a cut would leave is given up at once.
    this.#safe.fill(0, Math.max(size, this.#safeSize));
    this.#size = size;
    for (const place of this.#dirty.keys()) {
      if (place * SECTOR >= size) this.#dirty.delete(place);
    }
    if (size % SECTOR !== 0) this.#dirty.set(sectorOf(size), this.#stamp);
  }

  stage(): StagedWrites {
    const sectors = [...this.#dirty].map(([index, stamp]) => ({
      index,
      stamp,
      bytes: sectorIn(this.#seen, index),
    }));
    return { sectors, size: this.#size, sizeStamp: this.#resized };
  }

  save({ sectors, size, sizeStamp }: StagedWrites): void {
    this.#own();
    if (sizeStamp > 0) this.#saveSize(size);
    for (const { index, stamp, bytes } of sectors) {
      // What was saved can be read back: a size that an earlier sync lost comes with it.
      this.#saveSize(Math.max(this.#safeSize, Math.min(size, (index + 1) * SECTOR)));
      this.#saveSector(index, bytes);
      this.#clean(index, stamp);
    }
    if (this.#resized === sizeStamp) this.#resized = 0;
  }

  /**
   * A sync failed, and the kernel takes it for done: nothing of this is ever saved again unless it
   * is written again. Some of it stays in memory, where a restarted process reads it; some of it is
   * read back from the disk as it was; some had reached the disk after all.
   */
  loseStaged({ sectors, size, sizeStamp }: StagedWrites, dice: SeededRandom): void {
    this.#own();
    this.#isLost = true;
    const fate = dice.pick(["remembered", "forgotten", "mixed"] as const);
    if (sizeStamp > 0 && dice.chance(0.5)) this.#saveSize(size);
    for (const { index, stamp, bytes } of sectors) {
      if (this.#dirty.get(index) !== stamp) continue;
      this.#dirty.delete(index);
      const one = fate === "mixed" ? dice.pick(["remembered", "forgotten", "saved"]) : fate;
      if (one === "saved") this.#saveSector(index, bytes);
      if (one === "forgotten") this.#seen.set(this.#lastSaved(index), index * SECTOR);
    }
    if (this.#resized === sizeStamp) this.#resized = 0;
  }

  /** The kernel saves some of it unasked. */
  writeBack(dice: SeededRandom): void {
    if (!this.needsSync) return;
    this.#own();
    for (const [place, stamp] of this.#dirty) {
      if (dice.chance(0.5)) continue;
      this.#saveSector(place, sectorIn(this.#seen, place));
      this.#clean(place, stamp);
    }
    if (this.#resized > 0 && dice.chance(0.5)) this.#saveSize(this.#size);
  }

  /** The power is gone: of what was not synced, this or that had reached the disk. */
  cutPower(dice: SeededRandom): void {
    if (!this.needsSync && !this.#isLost) return;
    this.#own();
    this.#isLost = false;
    const kept = dice.pick([0, 0.5, 0.5, 0.9, 1]);
    if (this.#resized > 0) this.#saveSize(this.#sizeAfterCut(dice));
    for (const place of this.#dirty.keys()) {
      if (dice.chance(kept)) this.#saveSector(place, sectorIn(this.#seen, place));
    }
    this.#dirty.clear();
    this.#resized = 0;
    this.#size = this.#safeSize;
    this.#seen = grown(new Uint8Array(0), this.#size);
    this.#seen.set(this.#safe.subarray(0, this.#size));
  }

  /** What this sector held before it was last saved; null: it was saved once at most. */
  staleSector(place: number): Uint8Array | null {
    return this.#before.get(place) ?? null;
  }

  /** Other bytes than were written, on disk and in sight. */
  corrupt(offset: number, bytes: Uint8Array): void {
    this.#own();
    this.#seen.set(bytes, offset);
    this.#safe = grown(this.#safe, offset + bytes.length);
    this.#safe.set(bytes, offset);
  }

  clone(_copies?: unknown): SimulatedFile {
    const other = new SimulatedFile();
    other.mode = this.mode;
    other.#seen = this.#seen;
    other.#size = this.#size;
    other.#safe = this.#safe;
    other.#safeSize = this.#safeSize;
    other.#dirty = new Map(this.#dirty);
    other.#resized = this.#resized;
    other.#isLost = this.#isLost;
    other.#stamp = this.#stamp;
    other.#before = new Map(this.#before);
    other.#shared = true;
    this.#shared = true;
    return other;
  }

  #own(): void {
    if (!this.#shared) return;
    this.#seen = this.#seen.slice();
    this.#safe = this.#safe.slice();
    this.#shared = false;
  }

  #clean(place: number, stamp: number): void {
    if (this.#dirty.get(place) === stamp) this.#dirty.delete(place);
  }

  #lastSaved(place: number): Uint8Array {
    this.#safe = grown(this.#safe, (place + 1) * SECTOR);
    return sectorIn(this.#safe, place);
  }

  #saveSector(place: number, bytes: Uint8Array): void {
    this.#before.set(place, this.#lastSaved(place));
    this.#safe.set(bytes, place * SECTOR);
  }

  #saveSize(size: number): void {
    this.#safe = grown(this.#safe, size);
    if (size < this.#safeSize) this.#safe.fill(0, size, this.#safeSize);
    this.#safeSize = size;
  }

  #sizeAfterCut(dice: SeededRandom): number {
    const [low, high] = [this.#safeSize, this.#size].toSorted((a, b) => a - b);
    return dice.pick([
      this.#safeSize,
      this.#size,
      this.#size,
      dice.intBetween(low ?? 0, high ?? 0),
    ]);
  }
}

const sectorOf = (offset: number): number => Math.floor(offset / SECTOR);

/** Whole sectors, and room for more to come. */
function grown(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const needed = Math.ceil(size / SECTOR) * SECTOR;
  if (bytes.length >= needed) return bytes;
  const larger = new Uint8Array(Math.max(needed, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}

const sectorIn = (bytes: Uint8Array, place: number): Uint8Array =>
  bytes.slice(place * SECTOR, (place + 1) * SECTOR);
