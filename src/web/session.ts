import { signal } from "@preact/signals";

/**
 * Who administers through this page. The token lives in this variable alone: a reload forgets it,
 * and so does whoever closes the tab.
 */
export const token = signal<string | null>(null);

/** What stands between this page and administration. */
export type AccessState =
  /** Nobody has asked yet. */
  | "unknown"
  | "open"
  /** A credential is asked for. */
  | "sign-in"
  /** Credentials are not taken in plain HTTP from another machine. */
  | "tls"
  /** This network may not administer. */
  | "network";

export const accessState = signal<AccessState>("unknown");

/** What the server said when it did not let us in; empty: nothing worth saying. */
export const accessMessage = signal("");

const STATE_BY_CODE: Readonly<Record<string, AccessState>> = {
  unauthorized: "sign-in",
  tls_required: "tls",
  forbidden: "network",
  wrong_host: "network",
  cross_site: "network",
};

/**
 * A refusal may mean that we are no longer let in: then the page says so instead of each part. What
 * somebody only tries to get in with says nothing of that kind, but that TLS is asked for.
 */
export function noteRefusal(code: string, message: string, isTry: boolean): void {
  const shut = STATE_BY_CODE[code];
  if (shut === undefined || (isTry && shut !== "tls")) return;
  accessMessage.value = shut === "sign-in" && token.value === null ? "" : message;
  token.value = null;
  accessState.value = shut;
}

export function signIn(fresh: string): void {
  token.value = fresh;
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
