import type { Operations } from "../../operations/operations.ts";

/** What every route is made with. */
export interface RouteDeps {
  readonly operations: Operations;
  /** The address a request came from, as events record it. */
  readonly peerOf: (request: Request) => string;
}
