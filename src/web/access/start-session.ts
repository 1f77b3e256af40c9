import { ApiError, fetchResponse } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { allowAccess, adoptSession, type Session } from "../session.ts";
import { signIn } from "./sign-in-texts.ts";

const SESSIONS = "/api/admin/v1/sessions";

/** Signs this tab in with a token: the server starts a session, and the token is not kept. */
export async function signInWithToken(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetchResponse(SESSIONS, { method: "POST", headers }).catch(explain);
  const { session } = (await response.json()) as { readonly session: Session | null };
  if (session === null) allowAccess();
  else adoptSession(session);
  void watchStatus();
  // The form is gone: the keyboard and a screen reader continue with the view.
  document.querySelector<HTMLElement>("#view")?.focus({ preventScroll: true });
}

/** Signs this tab in with a password, which only /auth accepts. */
export async function signInWithPassword(name: string, password: string): Promise<void> {
  // btoa takes Latin-1 only: encode as UTF-8 first.
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  const basic = btoa(String.fromCharCode(...bytes));
  const response = await fetchResponse("/auth", { headers: { authorization: `Basic ${basic}` } });
  await signInWithToken(((await response.json()) as { readonly token: string }).token);
}

function explain(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== "unauthorized") throw error;
  throw new ApiError(error.code, signIn.wrongToken, error.status);
}
