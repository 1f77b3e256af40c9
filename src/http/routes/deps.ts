import type { Airgap } from "../../operations/airgap.ts";
import type { Credentials } from "../../operations/credentials.ts";
import type { Identity } from "../../operations/identity.ts";
import type { Licensing } from "../../operations/licensing.ts";
import type { Timekeeping } from "../../operations/timekeeping.ts";
import type { Operations } from "../../operations/operations.ts";

/** What every route is made with. */
export interface RouteDeps {
  readonly operations: Operations;
  readonly licensing: Licensing;
  readonly airgap: Airgap;
  readonly credentials: Credentials;
  readonly identity: Identity;
  readonly timekeeping: Timekeeping;
  /** The address a request came from, as events record it. */
  readonly peerOf: (request: Request) => string;
}
