import { ApiError } from "./api-error.ts";

const READ_TIMEOUT = 15_000;
/** A change waits for the disk, which may be slow. */
const CHANGE_TIMEOUT = 30_000;
/** Requests that read the whole data folder or the audit log, or send a file. */
const LONG_TIMEOUT = 600_000;
const LONG_READ = /\/(?:doctor|verify|audit\/export|audit\/csv|report|report\/what-if)$/;
const LONG_POST = /\/(?:backups?|backups\/verify|backups\/download|support-bundle)$/;

/** Sent with POST because of their bodies or their cost; repeating them changes nothing. */
const HARMLESS_POST =
  /\/(?:sessions|qr|verify|doctor|rules\/check|support-bundle|backups\/download)$/;

const pathOf = (url: string): string => url.replace(/^\w+:\/\/[^/]*/, "").split(/[?#]/, 1)[0] ?? "";

const isRead = (method: string): boolean => /^(?:GET|HEAD)$/i.test(method);

const mayChange = (method: string, path: string): boolean =>
  !isRead(method) && !HARMLESS_POST.test(path);

export function timeoutOf(method: string, path: string): number {
  const longRequest = isRead(method) ? LONG_READ : LONG_POST;
  if (longRequest.test(path)) return LONG_TIMEOUT;
  return mayChange(method, path) ? CHANGE_TIMEOUT : READ_TIMEOUT;
}

export interface TimedInit extends RequestInit {
  /** In milliseconds, until the whole body has arrived; null: the caller ends the request. */
  readonly timeout?: number | null;
}

/**
 * Like `fetch`, but a server that does not answer is noticed. Throws an `ApiError` then, which says
 * whether a change may have been made; a request that the caller ended throws its own error.
 */
export async function timedFetch(url: string, init: TimedInit = {}): Promise<Response> {
  const { timeout, ...options } = init;
  const method = options.method ?? "GET";
  const path = pathOf(url);
  const limit = timeout === undefined ? timeoutOf(method, path) : timeout;
  const signals = [options.signal, limit === null ? null : AbortSignal.timeout(limit)];
  const signal = AbortSignal.any(signals.filter((one) => one instanceof AbortSignal));
  try {
    return await fetch(url, { ...options, signal });
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw mayChange(method, path)
      ? new ApiError("outcome_unknown", connection.outcomeUnknown, 0)
      : new ApiError("unreachable", connection.noAnswer, 0);
  }
}

export const connection = {
  noAnswer: "The server does not answer.",
  outcomeUnknown:
    "The server did not answer. The change may have been made: look again before you repeat it.",
} as const;
