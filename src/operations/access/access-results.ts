import type { Fault } from "../../domain/model/fault.ts";
import type { Result } from "../../domain/result.ts";
import type { AccessFault } from "../../faults/fault-types.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Actor, Role, TokenRole } from "./actor.ts";

export type AccessResult<T> = Promise<Result<T, Fault | StorageFault | AccessFault>>;

export interface CreatedToken {
  readonly name: string;
  /** Shown only now; only its digest is stored. */
  readonly token: string;
  readonly role: TokenRole;
  readonly endsAt: number | null;
}

export interface StartedSession {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Sent only now; only its digest is stored. */
  readonly token: string;
  readonly endsAt: number;
}

export interface Login {
  readonly actor: Actor;
  readonly token: string;
}
