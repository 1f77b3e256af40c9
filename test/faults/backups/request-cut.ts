// Finds which of the clients' requests a backup contains. For each client these must be the first
// requests of its log, and all of these cuts together must be one instant of the server.
import { BrokenPromise } from "../shared/promises.ts";
import { applyRequest, type ClientRequest, type SlotsByUser } from "./client-load.ts";

const BACKUP_PROMISES = {
  created: "berth backup makes a backup of a server under load",
  verified: "berth verify finds no damage under load",
  served: "the server grants all requests while backups run",
  secrets: "a backup contains no cloud key and no file that seals one",
  restored: "a backup restores into an empty folder, which verifies, serves and stops cleanly",
  auditLog: "a restored audit log is intact and ends with Restored",
  requests:
    "a backup contains all requests answered before it started, those under way up to one " +
    "instant, and matching consumption totals",
} as const;

export type BackupPromise = keyof typeof BACKUP_PROMISES;

export class BackupViolation extends BrokenPromise {
  readonly promise: BackupPromise;
  readonly reason: string;

  constructor(promise: BackupPromise, reason: string) {
    super(`${BACKUP_PROMISES[promise]}: ${reason}`);
    this.promise = promise;
    this.reason = reason;
  }
}

/** Adds the context to the message of a violation. */
export async function withContext<T>(context: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof BackupViolation)) throw error;
    throw new BackupViolation(error.promise, `${context}: ${error.reason}`);
  }
}

/** When the backup was made, as measured by its caller. */
export interface BackupWindow {
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * After how many of its requests a client has the slots of the backup. It is a range, because some
 * requests in a row may not change the slots.
 */
export interface RequestCut {
  readonly least: number;
  readonly most: number;
}

export type RequestLog = readonly ClientRequest[];

export const countAnsweredBefore = (requestLog: RequestLog, instant: number): number =>
  requestLog.findLastIndex(({ answeredAt }) => answeredAt < instant) + 1;

export const countSentBefore = (requestLog: RequestLog, instant: number): number =>
  requestLog.findLastIndex(({ sentAt }) => sentAt < instant) + 1;

/** All requests answered before the backup started are in it, and none sent after it ended. */
export function findRequestCut(
  requestLog: RequestLog,
  backupSlots: SlotsByUser,
  { startedAt, endedAt }: BackupWindow,
): RequestCut {
  const minimum = countAnsweredBefore(requestLog, startedAt);
  const maximum = countSentBefore(requestLog, endedAt);
  const slots: SlotsByUser = new Map();
  const matches: number[] = [];
  let firstDifference = "";
  for (let count = 0; count <= maximum; count += 1) {
    if (count >= minimum) {
      const difference = describeDifference(slots, backupSlots);
      if (difference === null) matches.push(count);
      else firstDifference ||= difference;
    }
    const next = requestLog[count];
    if (next !== undefined) applyRequest(slots, next);
  }
  const [least] = matches;
  if (least === undefined) {
    throw new BackupViolation(
      "requests",
      `the slots in the backup match no cut of the client's requests from ${minimum} (answered ` +
        `before it started) to ${maximum} (sent before it ended); after ${minimum}: ${firstDifference}`,
    );
  }
  return { least, most: matches.at(-1) ?? least };
}

function describeDifference(slots: SlotsByUser, backupSlots: SlotsByUser): string | null {
  for (const user of new Set([...slots.keys(), ...backupSlots.keys()])) {
    const [expected, actual] = [slots.get(user), backupSlots.get(user)];
    if (!Bun.deepEquals(expected, actual)) {
      return `${user} should be ${abbreviate(expected)}, but is ${abbreviate(actual)}`;
    }
  }
  return null;
}

const abbreviate = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 200);

/**
 * A request that was answered before another one was sent is older, also across clients: a backup
 * with the newer request must contain the older one.
 */
export function checkOneInstant(
  requestLogs: readonly RequestLog[],
  cuts: readonly RequestCut[],
): void {
  const newestSent = Math.max(
    ...requestLogs.map((log, client) => log[(cuts[client]?.least ?? 0) - 1]?.sentAt ?? 0),
  );
  const oldestMissing = Math.min(
    ...requestLogs.map((log, client) => log[cuts[client]?.most ?? 0]?.answeredAt ?? Infinity),
  );
  if (oldestMissing < newestSent) {
    throw new BackupViolation(
      "requests",
      `the backup lacks a request answered at ${oldestMissing}, but contains a request sent ` +
        `${newestSent - oldestMissing} ms later`,
    );
  }
}

/** The least and the most consumption that the backup may contain. */
export function sumConsumption(
  requestLogs: readonly RequestLog[],
  cuts: readonly RequestCut[],
  operation: string,
): RequestCut {
  const sumUpTo = (bound: keyof RequestCut): number =>
    requestLogs
      .flatMap((log, client) => log.slice(0, cuts[client]?.[bound] ?? 0))
      .filter((request) => request.operation === operation)
      .reduce((total, { count }) => total + count, 0);
  return { least: sumUpTo("least"), most: sumUpTo("most") };
}
