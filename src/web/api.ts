import { treaty } from "@elysiajs/eden";
import type { App } from "../http/app.ts";
import { credentialHeaders, noteRefusal, token } from "./session.ts";

/** The server refused the request, or did not answer. The message is meant for people. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * `omit` keeps the browser from opening its own login window on a 401, and from sending
 * credentials that no script added.
 */
const FETCH_OPTIONS = { credentials: "omit", cache: "no-store", redirect: "error" } as const;

const { api } = treaty<App>(location.origin, {
  fetch: FETCH_OPTIONS,
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
  return throwApiError(value, response?.status ?? 0, sentWith);
}

/** For streams, files and replies that are not JSON. */
export async function fetchResponse(path: string, init: RequestInit = {}): Promise<Response> {
  const sentWith = token.peek();
  const headers = {
    ...(init.headers as Record<string, string> | undefined),
    ...credentialHeaders(),
  };
  const response = await fetch(path, { ...FETCH_OPTIONS, ...init, headers }).catch(
    throwUnreachable,
  );
  if (response.ok) return response;
  const isSignInAttempt = new Headers(init.headers).has("authorization");
  return throwApiError(
    await response.json().catch(() => null),
    response.status,
    sentWith,
    isSignInAttempt,
  );
}

function throwUnreachable(): never {
  throw new ApiError("unreachable", "The server does not answer.", 0);
}

function throwApiError(
  body: unknown,
  status: number,
  sentWith: string | null,
  isSignInAttempt = false,
): never {
  const { code, message } = (body ?? {}) as { readonly code?: string; readonly message?: string };
  if (code === undefined || message === undefined) return throwUnreachable();
  // A reply to a request sent before signing in says nothing about the current token.
  if (sentWith === token.peek()) noteRefusal(code, message, isSignInAttempt);
  throw new ApiError(code, message, status);
}

/** The text to show for anything that was thrown. */
export const errorMessageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
