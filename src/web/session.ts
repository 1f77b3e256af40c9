import { computed, signal } from "@preact/signals";
import type { StartedSessionReply } from "../http/routes/access/sessions.ts";
import { readStoredSession, storeSession } from "./session-storage.ts";

/** A session that the server has started for this tab. */
export type Session = StartedSessionReply;

/** The session of this tab; null: not signed in, or none is needed. */
export const session = signal<Session | null>(readStoredSession());

/** The token of the tab's requests. In the API documentation, the reader may enter another one. */
export const token = signal<string | null>(session.value?.token ?? null);

/**
 * Whether this tab may change something. A viewer reads everything, and the server refuses all
 * changes: so hide buttons that would be refused.
 */
export const canChange = computed(() => session.value?.role !== "viewer");

/** Whether this page may administer, and if not, why. */
export type AccessState =
  /** The server has not answered yet. */
  | "unknown"
  | "open"
  /** A credential is required. */
  | "sign-in"
  /** The server refuses credentials over plain HTTP from another machine. */
  | "tls"
  /** This network may not administer. */
  | "network";

export const accessState = signal<AccessState>("unknown");

/** The server's message when it denied access; empty: nothing to show. */
export const accessMessage = signal("");

/** The name of the last session since the page was loaded: the page may hold its data. */
let lastName: string | null = session.value?.name ?? null;

const STATE_BY_CODE: Readonly<Record<string, AccessState>> = {
  unauthorized: "sign-in",
  tls_required: "tls",
  forbidden: "network",
  wrong_host: "network",
  cross_site: "network",
};

/**
 * Some refusals mean that this page has lost access: then the whole page shows that, not each part.
 * A failed sign-in attempt does not mean so, except where the server requires TLS; nor does a
 * change that is refused to a viewer.
 */
export function noteRefusal(code: string, message: string, isSignInAttempt: boolean): void {
  const state = STATE_BY_CODE[code];
  if (state === undefined || (isSignInAttempt && state !== "tls")) return;
  if (code === "forbidden" && !canChange.value) return;
  accessMessage.value = state === "sign-in" && token.value === null ? "" : message;
  // Over the wrong connection or network, the session itself is still valid.
  if (state === "sign-in") forgetSession();
  accessState.value = state;
}

/** Uses a session that the server has started. */
export function adoptSession(started: Session): void {
  const isOtherPerson = lastName !== null && lastName !== started.name;
  lastName = started.name;
  storeSession(started);
  // The data that the page holds belongs to another user.
  if (isOtherPerson) location.reload();
  session.value = started;
  token.value = started.token;
  allowAccess();
}

/** Administration is open here. */
export function allowAccess(): void {
  accessMessage.value = "";
  accessState.value = "open";
}

export function forgetSession(): void {
  storeSession(null);
  session.value = null;
  token.value = null;
}

export const credentialHeaders = (): Record<string, string> =>
  token.value === null ? {} : { authorization: `Bearer ${token.value}` };
