import { signal } from "@preact/signals";

/**
 * The token this tab is signed in with. It is held in this variable only: reloading or closing the
 * tab discards it.
 */
export const token = signal<string | null>(null);

/** Whether this page may administer, and if not, why. */
export type AccessState =
  /** The server has not been asked yet. */
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

const STATE_BY_CODE: Readonly<Record<string, AccessState>> = {
  unauthorized: "sign-in",
  tls_required: "tls",
  forbidden: "network",
  wrong_host: "network",
  cross_site: "network",
};

/**
 * Some refusals mean that this page has lost access: then the whole page shows that, not each part.
 * A failed sign-in attempt does not mean so, except where the server requires TLS.
 */
export function noteRefusal(code: string, message: string, isSignInAttempt: boolean): void {
  const state = STATE_BY_CODE[code];
  if (state === undefined || (isSignInAttempt && state !== "tls")) return;
  accessMessage.value = state === "sign-in" && token.value === null ? "" : message;
  token.value = null;
  accessState.value = state;
}

export function signIn(newToken: string): void {
  token.value = newToken;
  accessMessage.value = "";
  accessState.value = "open";
}

export function signOut(): void {
  token.value = null;
  accessMessage.value = "";
  accessState.value = "sign-in";
}

export const credentialHeaders = (): Record<string, string> =>
  token.value === null ? {} : { authorization: `Bearer ${token.value}` };
