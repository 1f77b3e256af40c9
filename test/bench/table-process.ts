// Changes one kind of table as a server changes its registrations, in a process of its own.
// `tables.ts` starts it, and reads the log of its garbage collector.
import { LargeMap } from "../../src/domain/index/large-map.ts";
import { hashString } from "../../src/domain/index/string-hash.ts";

interface Entry {
  readonly user: string;
  readonly slot: number;
  readonly contact: { readonly peer: string; readonly hostname: string };
}

interface Table {
  get(user: string): Entry | undefined;
  set(entry: Entry): void;
  delete(user: string): void;
}

/** What would be there without hash tables: maps, and a hash that nobody can foresee. */
class ManyMaps implements Table {
  readonly #maps: readonly Map<string, Entry>[];

  constructor(count: number) {
    this.#maps = Array.from({ length: count }, () => new Map());
  }

  get(user: string): Entry | undefined {
    return this.#mapOf(user).get(user);
  }

  set(entry: Entry): void {
    this.#mapOf(entry.user).set(entry.user, entry);
  }

  delete(user: string): void {
    this.#mapOf(user).delete(user);
  }

  #mapOf(user: string): Map<string, Entry> {
    const map = this.#maps[(hashString(user) >>> 0) % this.#maps.length];
    if (map === undefined) throw new Error("there are no maps");
    return map;
  }
}

class OneMap implements Table {
  readonly #map = new Map<string, Entry>();

  get(user: string): Entry | undefined {
    return this.#map.get(user);
  }

  set(entry: Entry): void {
    this.#map.set(entry.user, entry);
  }

  delete(user: string): void {
    this.#map.delete(user);
  }
}

const TABLES = {
  LargeMap: () => new LargeMap<Entry>(({ user }) => user),
  Map: () => new OneMap(),
  "1,024 Maps": () => new ManyMaps(1_024),
} satisfies Readonly<Record<string, () => Table>>;

export type TableKind = keyof typeof TABLES;

export interface TableResult {
  /** Bytes of memory of the process after the table was filled. */
  readonly memory: number;
  /** Processor time (µs) of a cycle, with all threads. */
  readonly cycleTime: number;
  /** Whether the table has the newest entry, and no longer the first one. */
  readonly isRight: boolean;
}

/** Printed to the standard error, between the log of filling and that of the changes. */
export const CHANGES_MARK = "--- changes ---";

const CYCLES = 100_000;
const LOOK_UPS = 4;
/** A server lets others run after some requests, and then their objects are garbage. */
const CYCLES_PER_TURN = 100;

const userOf = (number: number): string => `user-${number}@plant.example`;

const makeEntry = (slot: number): Entry => ({
  user: userOf(slot),
  slot,
  contact: { peer: `10.${slot >> 16}.${(slot >> 8) & 255}.${slot & 255}`, hostname: `pc-${slot}` },
});

/** The oldest entry goes, a new one comes, and others are looked up. */
async function change(table: Table, count: number): Promise<void> {
  let requests: unknown[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    table.delete(userOf(cycle));
    table.set(makeEntry(count + cycle));
    for (let look = 1; look <= LOOK_UPS; look += 1) {
      const number = cycle + Math.floor((look * count) / (LOOK_UPS + 1));
      requests.push({ entry: table.get(userOf(number)), body: `{"user":"${userOf(number)}"}` });
    }
    if (cycle % CYCLES_PER_TURN !== 0) continue;
    requests = [];
    await Bun.sleep(0);
  }
}

if (import.meta.main) {
  const [kind, countText] = process.argv.slice(2);
  const count = Number(countText);
  const table: Table = TABLES[kind as TableKind]();
  for (let slot = 0; slot < count; slot += 1) table.set(makeEntry(slot));
  Bun.gc(true);
  const memory = process.memoryUsage().rss;
  console.error(CHANGES_MARK);
  const start = process.cpuUsage();
  await change(table, count);
  const { user, system } = process.cpuUsage(start);
  const newest = table.get(userOf(count + CYCLES - 1));
  const result: TableResult = {
    memory,
    cycleTime: (user + system) / CYCLES,
    isRight: newest?.slot === count + CYCLES - 1 && table.get(userOf(0)) === undefined,
  };
  console.log(JSON.stringify(result));
}
