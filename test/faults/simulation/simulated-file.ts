import type { SeededRandom } from "../../support/seeded-random.ts";

/** Bytes that a disk writes atomically. */
export const SECTOR = 512;

/** What a pending sync will have saved when it returns. */
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
 * A file as the kernel and the disk have it: what processes see, and what certainly survives a
 * power cut. The difference is the sectors that were changed and not saved yet.
 */
export class SimulatedFile {
  mode = 0o600;
  #visible = new Uint8Array(0);
  #size = 0;
  #safe = new Uint8Array(0);
  #safeSize = 0;
  /** Sectors that a sync must save, with the stamp of their last change. */
  #dirty = new Map<number, number>();
  /** Whether processes may see data that no sync will save. */
  #hasLostWrites = false;
  /** The stamp of the last size change; 0: the size is saved. */
  #sizeStamp = 0;
  #stamp = 0;
  /** The content of each sector before it was last saved. */
  #staleSectors = new Map<number, Uint8Array>();
  /** Whether a clone uses the same bytes; they are copied before a change. */
  #isShared = false;

  get size(): number {
    return this.#size;
  }

  get needsSync(): boolean {
    return this.#dirty.size > 0 || this.#sizeStamp > 0;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#visible.slice(0, this.#size);
  }

  /** The same without a copy; valid until the next change. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#visible.subarray(0, this.#size);
  }

  append(bytes: Uint8Array): void {
    this.overwrite(this.#size, bytes);
  }

  overwrite(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#copyIfShared();
    const end = offset + bytes.length;
    this.#visible = withCapacity(this.#visible, end);
    this.#visible.set(bytes, offset);
    this.#stamp += 1;
    if (end > this.#size) {
      this.#size = end;
      this.#sizeStamp = this.#stamp;
    }
    for (let sector = sectorAt(offset); sector <= sectorAt(end - 1); sector += 1) {
      this.#dirty.set(sector, this.#stamp);
    }
  }

  truncate(size: number): void {
    if (size === this.#size) return;
    this.#copyIfShared();
    this.#stamp += 1;
    this.#sizeStamp = this.#stamp;
    this.#visible = withCapacity(this.#visible, size);
    this.#visible.fill(0, size, Math.max(size, this.#size));
    // Saved bytes behind the size that a cut would leave are discarded at once.
    this.#safe.fill(0, Math.max(size, this.#safeSize));
    this.#size = size;
    for (const sector of this.#dirty.keys()) {
      if (sector * SECTOR >= size) this.#dirty.delete(sector);
    }
    if (size % SECTOR !== 0) this.#dirty.set(sectorAt(size), this.#stamp);
  }

  stage(): StagedWrites {
    const sectors = [...this.#dirty].map(([index, stamp]) => ({
      index,
      stamp,
      bytes: readSector(this.#visible, index),
    }));
    return { sectors, size: this.#size, sizeStamp: this.#sizeStamp };
  }

  save({ sectors, size, sizeStamp }: StagedWrites): void {
    this.#copyIfShared();
    if (sizeStamp > 0) this.#saveSize(size);
    for (const { index, stamp, bytes } of sectors) {
      // Saved data can be read back, so this also saves a size that an earlier sync lost.
      this.#saveSize(Math.max(this.#safeSize, Math.min(size, (index + 1) * SECTOR)));
      this.#saveSector(index, bytes);
      this.#markClean(index, stamp);
    }
    if (this.#sizeStamp === sizeStamp) this.#sizeStamp = 0;
  }

  /**
   * A sync failed, and the kernel marks the data as clean: it is never saved unless it is written
   * again. Some of it stays in memory, where a restarted process reads it; some is read back from
   * the disk as it was; some had reached the disk after all.
   */
  loseStaged({ sectors, size, sizeStamp }: StagedWrites, random: SeededRandom): void {
    this.#copyIfShared();
    this.#hasLostWrites = true;
    const fate = random.pick(["cached", "reverted", "mixed"] as const);
    if (sizeStamp > 0 && random.chance(0.5)) this.#saveSize(size);
    for (const { index, stamp, bytes } of sectors) {
      if (this.#dirty.get(index) !== stamp) continue;
      this.#dirty.delete(index);
      const sectorFate = fate === "mixed" ? random.pick(["cached", "reverted", "saved"]) : fate;
      if (sectorFate === "saved") this.#saveSector(index, bytes);
      if (sectorFate === "reverted") this.#visible.set(this.#lastSaved(index), index * SECTOR);
    }
    if (this.#sizeStamp === sizeStamp) this.#sizeStamp = 0;
  }

  /** The kernel saves some sectors without a sync. */
  writeBack(random: SeededRandom): void {
    if (!this.needsSync) return;
    this.#copyIfShared();
    for (const [sector, stamp] of this.#dirty) {
      if (random.chance(0.5)) continue;
      this.#saveSector(sector, readSector(this.#visible, sector));
      this.#markClean(sector, stamp);
    }
    if (this.#sizeStamp > 0 && random.chance(0.5)) this.#saveSize(this.#size);
  }

  /** Cuts the power: a random part of the unsynced data has reached the disk. */
  cutPower(random: SeededRandom): void {
    if (!this.needsSync && !this.#hasLostWrites) return;
    this.#copyIfShared();
    this.#hasLostWrites = false;
    const survivalChance = random.pick([0, 0.5, 0.5, 0.9, 1]);
    if (this.#sizeStamp > 0) this.#saveSize(this.#sizeAfterCut(random));
    for (const sector of this.#dirty.keys()) {
      if (random.chance(survivalChance))
        this.#saveSector(sector, readSector(this.#visible, sector));
    }
    this.#dirty.clear();
    this.#sizeStamp = 0;
    this.#size = this.#safeSize;
    this.#visible = withCapacity(new Uint8Array(0), this.#size);
    this.#visible.set(this.#safe.subarray(0, this.#size));
  }

  /** The sector's content before it was last saved; null: it was saved at most once. */
  staleSector(sector: number): Uint8Array | null {
    return this.#staleSectors.get(sector) ?? null;
  }

  /** Replaces bytes, on the disk and as processes see them. */
  corrupt(offset: number, bytes: Uint8Array): void {
    this.#copyIfShared();
    this.#visible.set(bytes, offset);
    this.#safe = withCapacity(this.#safe, offset + bytes.length);
    this.#safe.set(bytes, offset);
  }

  clone(_copies?: unknown): SimulatedFile {
    const other = new SimulatedFile();
    other.mode = this.mode;
    other.#visible = this.#visible;
    other.#size = this.#size;
    other.#safe = this.#safe;
    other.#safeSize = this.#safeSize;
    other.#dirty = new Map(this.#dirty);
    other.#sizeStamp = this.#sizeStamp;
    other.#hasLostWrites = this.#hasLostWrites;
    other.#stamp = this.#stamp;
    other.#staleSectors = new Map(this.#staleSectors);
    other.#isShared = true;
    this.#isShared = true;
    return other;
  }

  #copyIfShared(): void {
    if (!this.#isShared) return;
    this.#visible = this.#visible.slice();
    this.#safe = this.#safe.slice();
    this.#isShared = false;
  }

  #markClean(sector: number, stamp: number): void {
    if (this.#dirty.get(sector) === stamp) this.#dirty.delete(sector);
  }

  #lastSaved(sector: number): Uint8Array {
    this.#safe = withCapacity(this.#safe, (sector + 1) * SECTOR);
    return readSector(this.#safe, sector);
  }

  #saveSector(sector: number, bytes: Uint8Array): void {
    this.#staleSectors.set(sector, this.#lastSaved(sector));
    this.#safe.set(bytes, sector * SECTOR);
  }

  #saveSize(size: number): void {
    this.#safe = withCapacity(this.#safe, size);
    if (size < this.#safeSize) this.#safe.fill(0, size, this.#safeSize);
    this.#safeSize = size;
  }

  #sizeAfterCut(random: SeededRandom): number {
    const [low, high] = [this.#safeSize, this.#size].toSorted((a, b) => a - b);
    return random.pick([
      this.#safeSize,
      this.#size,
      this.#size,
      random.intBetween(low ?? 0, high ?? 0),
    ]);
  }
}

const sectorAt = (offset: number): number => Math.floor(offset / SECTOR);

/** Enlarges the buffer to complete sectors, with capacity for further growth. */
function withCapacity(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const needed = Math.ceil(size / SECTOR) * SECTOR;
  if (bytes.length >= needed) return bytes;
  const enlarged = new Uint8Array(Math.max(needed, 2 * bytes.length));
  enlarged.set(bytes);
  return enlarged;
}

const readSector = (bytes: Uint8Array, sector: number): Uint8Array =>
  bytes.slice(sector * SECTOR, (sector + 1) * SECTOR);
