import { recall, remember } from "../remembered.ts";

const NAME = "sign-in";

export type SignInMethod = "token" | "password";

/**
 * The last sign-in method of this browser: that form comes first. The server does not say
 * whether users exist before a sign-in.
 */
export const readPreferredMethod = (): SignInMethod =>
  recall(NAME) === "password" ? "password" : "token";

export const rememberMethod = (method: SignInMethod): void => remember(NAME, method);
