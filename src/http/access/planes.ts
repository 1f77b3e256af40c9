/**
 * Which callers a route accepts. Open: every address of the client networks. Client: applications.
 * Login: the route that takes a password. Admin: operators.
 */
export type Plane = "open" | "client" | "login" | "admin";
