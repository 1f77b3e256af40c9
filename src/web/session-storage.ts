import type { StartedSessionReply } from "../http/routes/access/sessions.ts";

const KEY = "berth-session";

/**
 * The session that this tab has stored. The storage belongs to the tab and to the address of this
 * server: it survives a reload, and no other tab or site can read it. SECURITY.md says why it is no
 * cookie.
 */
export function readStoredSession(): StartedSessionReply | null {
  try {
    return parseSession(sessionStorage.getItem(KEY));
  } catch {
    // The browser forbids storage: the session lasts until a reload.
    return null;
  }
}

export function storeSession(session: StartedSessionReply | null): void {
  try {
    if (session === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(session));
  } catch {
    // As above.
  }
}

/** Null: there is none, or it was not written by this page. */
export function parseSession(text: string | null): StartedSessionReply | null {
  const value: unknown = JSON.parse(text ?? "null");
  return isSession(value) ? value : null;
}

const MEMBERS = ["id", "name", "role", "token", "expires_at"] as const;

const isSession = (value: unknown): value is StartedSessionReply =>
  typeof value === "object" &&
  value !== null &&
  MEMBERS.every((name) => typeof (value as Record<string, unknown>)[name] === "string");
