import { treaty } from "@elysiajs/eden";
import type { App } from "../http/app.ts";
import { credential, noteRefusal, token } from "./session.ts";

/** The server said no, or nothing at all; its sentence is for people to read. */
export class Refused extends Error {
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
const ALONE = { credentials: "omit", cache: "no-store", redirect: "error" } as const;

const { api } = treaty<App>(location.origin, {
  fetch: ALONE,
  headers: () => credential(),
  parseDate: false,
});

export const admin = api.admin.v1;
export const v4 = api.v4;

interface Answered<T> {
  readonly data: T | null;
  readonly error: unknown;
  readonly response: Response | undefined;
}

/** The reply, or `Refused`. */
export async function done<T>(call: Promise<Answered<T>>): Promise<T> {
  const sentWith = token.peek();
  const { data, error, response } = await call.catch(unreachable);
  if (error === null) return data as T;
  const { value } = error as { readonly value: unknown };
  return refuse(value, response?.status ?? 0, sentWith);
}

/** For streams, files and what has no JSON to answer with. */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const sentWith = token.peek();
  const headers = { ...(init.headers as Record<string, string> | undefined), ...credential() };
  const response = await fetch(path, { ...ALONE, ...init, headers }).catch(unreachable);
  if (response.ok) return response;
  const isTry = new Headers(init.headers).has("authorization");
  return refuse(await response.json().catch(() => null), response.status, sentWith, isTry);
}

function unreachable(): never {
  throw new Refused("unreachable", "The server does not answer.", 0);
}

function refuse(said: unknown, status: number, sentWith: string | null, isTry = false): never {
  const { code, message } = (said ?? {}) as { readonly code?: string; readonly message?: string };
  if (code === undefined || message === undefined) return unreachable();
  // What was asked before somebody signed in says nothing of who they are since.
  if (sentWith === token.peek()) noteRefusal(code, message, isTry);
  throw new Refused(code, message, status);
}

/** What a person should read of whatever was thrown. */
export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
