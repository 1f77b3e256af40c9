import { treaty } from "@elysiajs/eden";
import type { App } from "../http/app.ts";
import { ApiError, errorMessageOf } from "./api-error.ts";
import { connection, timedFetch, type TimedInit } from "./timed-fetch.ts";
import { noteStandby } from "./pair/standby.ts";
import { credentialHeaders, noteRefusal, token } from "./session.ts";

/**
 * `omit` keeps the browser from opening its own login window on a 401, and from sending
 * credentials that no script added.
 */
const FETCH_OPTIONS = { credentials: "omit", cache: "no-store", redirect: "error" } as const;

export { ApiError, errorMessageOf };

const { api } = treaty<App>(location.origin, {
  fetch: FETCH_OPTIONS,
  fetcher: timedFetch as typeof fetch,
  headers: () => credentialHeaders(),
  parseDate: false,
});

export const admin = api.admin.v1;
export const v4 = api.v4;

interface TreatyResult<T> {
  readonly data: T | null;
  readonly error: unknown;
  readonly response: Response | undefined;
}

/** Returns the reply; throws an `ApiError` if the server refused or did not answer. */
export async function unwrapReply<T>(pendingReply: Promise<TreatyResult<T>>): Promise<T> {
  const sentWith = token.peek();
  const { data, error, response } = await pendingReply.catch(throwUnreachable);
  if (error === null) return data as T;
  const { value } = error as { readonly value: unknown };
  // Without a response, the value is what the request threw.
  if (response === undefined) throw value;
  return throwApiError(value, response, sentWith);
}

/** For streams, files and replies that are not JSON. */
export async function fetchResponse(path: string, init: TimedInit = {}): Promise<Response> {
  const sentWith = token.peek();
  const headers = {
    ...(init.headers as Record<string, string> | undefined),
    ...credentialHeaders(),
  };
  const response = await timedFetch(path, { ...FETCH_OPTIONS, ...init, headers });
  if (response.ok) return response;
  const isSignInAttempt = new Headers(init.headers).has("authorization");
  return throwApiError(
    await response.json().catch(() => null),
    response,
    sentWith,
    isSignInAttempt,
  );
}

interface RefusalBody {
  readonly code: string;
  readonly message: string;
  readonly field: string | null;
}

function throwUnreachable(): never {
  throw new ApiError("unreachable", connection.noAnswer, 0);
}

function throwApiError(
  body: unknown,
  { status, headers }: Response,
  sentWith: string | null,
  isSignInAttempt = false,
): never {
  const { code, message, field = null } = (body ?? {}) as Partial<RefusalBody>;
  if (code === undefined || message === undefined) return throwUnreachable();
  // A reply to a request sent before signing in says nothing about the current token.
  if (sentWith === token.peek()) noteRefusal(code, message, isSignInAttempt);
  noteStandby(code, headers);
  throw new ApiError(code, message, status, field);
}
