/** What was changed of the tokens, users and sessions. */
export type AccessChange =
  "token_made" | "token_revoked" | "user_set" | "user_removed" | "session_revoked";
