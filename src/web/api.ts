import { treaty } from "@elysiajs/eden";
import type { App } from "../http/app.ts";
import { credentialHeaders, noteRefusal, token } from "./session.ts";

/** The server said no, or nothing at all; its sentence is for people to read. */
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
 * Without the browser's own login window, which a 401 to a request with credentials opens; and
 * nothing is sent that a script did not put there.
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

/** The reply, or `Refused`. */
export async function unwrapReply<T>(pendingReply: Promise<TreatyResult<T>>): Promise<T> {
  const sentWith = token.peek();
  const { data, error, response } = await pendingReply.catch(throwUnreachable);
  if (error === null) return data as T;
  const { value } = error as { readonly value: unknown };
  return throwApiError(value, response?.status ?? 0, sentWith);
}

/** For streams, files and what has no JSON to answer with. */
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
  const isTry = new Headers(init.headers).has("authorization");
  return throwApiError(await response.json().catch(() => null), response.status, sentWith, isTry);
}

function throwUnreachable(): never {
  throw new ApiError("unreachable", "The server does not answer.", 0);
}

function throwApiError(
  said: unknown,
  status: number,
  sentWith: string | null,
  isTry = false,
): never {
  const { code, message } = (said ?? {}) as { readonly code?: string; readonly message?: string };
  if (code === undefined || message === undefined) return throwUnreachable();
  // What was asked before somebody signed in says nothing of who they are since.
  if (sentWith === token.peek()) noteRefusal(code, message, isTry);
  throw new ApiError(code, message, status);
}

/** What a person should read of whatever was thrown. */
export const errorMessageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
