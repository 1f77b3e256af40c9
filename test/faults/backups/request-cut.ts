// Which of the clients' requests are in a backup: for each client a beginning of its ledger, and all
// of these together one moment of the server's.
import { applyRequest, type ClientRequest, type SlotsByUser } from "./client-load.ts";

export type BackupPromise =
  "made" | "looked" | "restored" | "kept" | "recorded" | "secret" | "served";

/** A promise that was broken, and how. */
export class BackupViolation extends Error {
  readonly promise: BackupPromise;

  constructor(promise: BackupPromise, how: string) {
    super(how);
    this.promise = promise;
  }
}

/** Says where, if something is broken there. */
export async function withContext<T>(place: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof BackupViolation)) throw error;
    throw new BackupViolation(error.promise, `${place}: ${error.message}`);
  }
}

/** When the backup was made, as its caller knows it. */
export interface BackupWindow {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** After how many of a client's requests it holds what was found; more than one may leave no trace. */
export interface RequestCut {
  readonly least: number;
  readonly most: number;
}

export type RequestLog = readonly ClientRequest[];

export const countAnsweredBefore = (ledger: RequestLog, moment: number): number =>
  ledger.findLastIndex(({ answeredAt }) => answeredAt < moment) + 1;

export const countSentBefore = (ledger: RequestLog, moment: number): number =>
  ledger.findLastIndex(({ sentAt }) => sentAt < moment) + 1;

/** Everything answered before the backup began is in it, and nothing asked after it ended. */
export function findRequestCut(
  ledger: RequestLog,
  found: SlotsByUser,
  { startedAt, endedAt }: BackupWindow,
): RequestCut {
  const [promised, possible] = [
    countAnsweredBefore(ledger, startedAt),
    countSentBefore(ledger, endedAt),
  ];
  const held: SlotsByUser = new Map();
  const fitting: number[] = [];
  let differences = "";
  for (let count = 0; count <= possible; count += 1) {
    if (count >= promised) {
      const difference = differenceOf(held, found);
      if (difference === null) fitting.push(count);
      else differences ||= difference;
    }
    const next = ledger[count];
    if (next !== undefined) applyRequest(held, next);
  }
  const [least] = fitting;
  if (least === undefined) {
    throw new BackupViolation(
      "kept",
      `no number of a client's requests from ${promised} (answered before it began) to ` +
        `${possible} (asked before it ended) leads to what it holds; after ${promised}: ${differences}`,
    );
  }
  return { least, most: fitting.at(-1) ?? least };
}

function differenceOf(held: SlotsByUser, found: SlotsByUser): string | null {
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
export function checkOneInstant(ledgers: readonly RequestLog[], cuts: readonly RequestCut[]): void {
  const newest = Math.max(
    ...ledgers.map((ledger, client) => ledger[(cuts[client]?.least ?? 0) - 1]?.sentAt ?? 0),
  );
  const missing = Math.min(
    ...ledgers.map((ledger, client) => ledger[cuts[client]?.most ?? 0]?.answeredAt ?? Infinity),
  );
  if (missing < newest) {
    throw new BackupViolation(
      "kept",
      `it lacks a request answered at ${missing} and has one asked ${newest - missing} ms later`,
    );
  }
}

/** What may have been counted: of each client at least and at most this. */
export function sumConsumption(
  ledgers: readonly RequestLog[],
  cuts: readonly RequestCut[],
  operation: string,
): RequestCut {
  const upTo = (which: keyof RequestCut): number =>
    ledgers
      .flatMap((ledger, client) => ledger.slice(0, cuts[client]?.[which] ?? 0))
      .filter((asked) => asked.operation === operation)
      .reduce((total, { count }) => total + count, 0);
  return { least: upTo("least"), most: upTo("most") };
}
