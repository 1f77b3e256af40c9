/**
 * Admin: may do everything. Viewer: reads everything on the admin plane and changes nothing there.
 * Metrics: reads the metrics and nothing else. User: only logs in for applications.
 */
export type Role = "admin" | "viewer" | "metrics" | "user";

/** Tokens are for administration, so they have no role `user`. */
export type TokenRole = Exclude<Role, "user">;

/** The metrics are read by programs, so people do not have that role. */
export type UserRole = Exclude<Role, "metrics">;

/** A token of a name, or a login of a user. */
export type CredentialType = "token" | "user";

/** The owner of a credential. */
export interface Actor {
  readonly name: string;
  readonly role: Role;
  /** Of a session: the credential that started it. */
  readonly credentialType: CredentialType;
  /** The session of the page; null: the credential itself was sent. */
  readonly sessionId: string | null;
  /** The key of its last use, see `ownerKey` and `sessionKey`. */
  readonly useKey: string;
}

export const ownerKey = (type: CredentialType, name: string): string => `${type} ${name}`;

export const sessionKey = (id: string): string => `session ${id}`;
