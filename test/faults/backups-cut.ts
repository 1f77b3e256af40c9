// Which of the clients' requests are in a backup: for each client a beginning of its ledger, and all
// of these together one moment of the server's.
import { apply, type Asked, type Holdings } from "./backups-load.ts";

export type PromiseName =
  "made" | "looked" | "restored" | "kept" | "recorded" | "secret" | "served";

/** A promise that was broken, and how. */
export class Broken extends Error {
  readonly promise: PromiseName;

  constructor(promise: PromiseName, how: string) {
    super(how);
    this.promise = promise;
  }
}

/** Says where, if something is broken there. */
export async function within<T>(place: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    throw new Broken(error.promise, `${place}: ${error.message}`);
  }
}

/** When the backup was made, as its caller knows it. */
export interface Window {
  readonly began: number;
  readonly ended: number;
}

/** After how many of a client's requests it holds what was found; more than one may leave no trace. */
export interface Cut {
  readonly least: number;
  readonly most: number;
}

export type Ledger = readonly Asked[];

export const answeredBy = (ledger: Ledger, moment: number): number =>
  ledger.findLastIndex(({ answeredAt }) => answeredAt < moment) + 1;

export const askedBy = (ledger: Ledger, moment: number): number =>
  ledger.findLastIndex(({ at }) => at < moment) + 1;

/** Everything answered before the backup began is in it, and nothing asked after it ended. */
export function cutOf(ledger: Ledger, found: Holdings, { began, ended }: Window): Cut {
  const [promised, possible] = [answeredBy(ledger, began), askedBy(ledger, ended)];
  const held: Holdings = new Map();
  const fitting: number[] = [];
  let differences = "";
  for (let count = 0; count <= possible; count += 1) {
    if (count >= promised) {
      const difference = differenceOf(held, found);
      if (difference === null) fitting.push(count);
      else differences ||= difference;
    }
    const next = ledger[count];
    if (next !== undefined) apply(held, next);
  }
  const [least] = fitting;
  if (least === undefined) {
    throw new Broken(
      "kept",
      `no number of a client's requests from ${promised} (answered before it began) to ` +
        `${possible} (asked before it ended) leads to what it holds; after ${promised}: ${differences}`,
    );
  }
  return { least, most: fitting.at(-1) ?? least };
}

function differenceOf(held: Holdings, found: Holdings): string | null {
  for (const user of new Set([...held.keys(), ...found.keys()])) {
    const [wanted, got] = [held.get(user), found.get(user)];
    if (!Bun.deepEquals(wanted, got)) {
      return `${user} should be ${short(wanted)} and is ${short(got)}`;
    }
  }
  return null;
}

const short = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 200);

/** What was answered before something else was asked is older: the backup has it if it has that. */
export function oneMoment(ledgers: readonly Ledger[], cuts: readonly Cut[]): void {
  const newest = Math.max(
    ...ledgers.map((ledger, client) => ledger[(cuts[client]?.least ?? 0) - 1]?.at ?? 0),
  );
  const missing = Math.min(
    ...ledgers.map((ledger, client) => ledger[cuts[client]?.most ?? 0]?.answeredAt ?? Infinity),
  );
  if (missing < newest) {
    throw new Broken(
      "kept",
      `it lacks a request answered at ${missing} and has one asked ${newest - missing} ms later`,
    );
  }
}

/** What may have been counted: of each client at least and at most this. */
export function countedIn(
  ledgers: readonly Ledger[],
  cuts: readonly Cut[],
  operation: string,
): Cut {
  const upTo = (which: keyof Cut): number =>
    ledgers
      .flatMap((ledger, client) => ledger.slice(0, cuts[client]?.[which] ?? 0))
      .filter((asked) => asked.operation === operation)
      .reduce((total, { count }) => total + count, 0);
  return { least: upTo("least"), most: upTo("most") };
}
