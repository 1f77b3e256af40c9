/**
 * Which callers a route accepts. Client: applications. Admin: operators. Open and login, which
 * takes a password: every address that one of them accepts.
 */
export type Plane = "open" | "client" | "login" | "admin";
