const KEY = "berth-sign-in";

export type SignInMethod = "token" | "password";

/**
 * The last sign-in method of this browser: that form comes first. The server does not tell
 * whether users exist before a sign-in.
 */
export function readPreferredMethod(): SignInMethod {
  try {
    return localStorage.getItem(KEY) === "password" ? "password" : "token";
  } catch {
    // The browser forbids storage.
    return "token";
  }
}

export function rememberMethod(method: SignInMethod): void {
  try {
    localStorage.setItem(KEY, method);
  } catch {
    // As above: the token comes first again.
  }
}
