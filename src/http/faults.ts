import type { Fault } from "../domain/fault.ts";
import type { Result } from "../domain/result.ts";
import type { AccessFault } from "../operations/access-control.ts";
import type { ConfirmationCodeFault } from "../operations/airgap.ts";
import type { LicenseFileFault, TrustClosedFault } from "../operations/licensing.ts";
import type { AuditMaintenanceFault } from "../operations/audit-maintenance.ts";
import type { AuditLogDamagedFault } from "../operations/audit-log-reader.ts";
import type { StorageFault } from "../operations/operations.ts";
import type { QrFramesFault, TextTooLongFault } from "../operations/qr-codes.ts";
import type { FaultMessage } from "./fault-message-parts.ts";
import { FAULT_MESSAGES } from "./fault-messages.ts";
import type { Plane } from "./planes.ts";
import type { MaintenanceFault } from "./running-server.ts";

/** Faults of the request itself, found before any rule of the domain decides. */
export type RequestFault =
  | { readonly code: "invalid_json"; readonly isEmpty?: true }
  | { readonly code: "body_not_object" }
  | { readonly code: "unsupported_media_type"; readonly takesFiles?: true }
  | { readonly code: "too_large"; readonly bytes: number }
  | { readonly code: "too_complex" }
  | {
      readonly code: "invalid_type";
      /** Fields that must be strings; the two lists below may also be numbers or booleans. */
      readonly fields: readonly string[];
      readonly numbers?: readonly string[];
      readonly booleans?: readonly string[];
    }
  | { readonly code: "invalid_number"; readonly field: string; readonly limit: number }
  | { readonly code: "invalid_boolean"; readonly field: string }
  | { readonly code: "invalid_timestamp"; readonly field: string }
  | { readonly code: "invalid_characters"; readonly field: string }
  | { readonly code: "invalid_parameter"; readonly field: string; readonly expected: string }
  | { readonly code: "too_long"; readonly field: string; readonly bytes: number }
  | { readonly code: "not_found" }
  | { readonly code: "method_not_allowed"; readonly allow: readonly string[] }
  | { readonly code: "wrong_host" }
  | { readonly code: "wrong_appliance" }
  | { readonly code: "cross_site" }
  | { readonly code: "forbidden"; readonly reason: "network" | "role" | "user" }
  /** Without a plane: a login. `isMissing`: it had no readable name and password. */
  | { readonly code: "unauthorized"; readonly plane?: Plane; readonly isMissing?: true }
  | { readonly code: "tls_required" }
  | { readonly code: "too_many_requests"; readonly busy: "requests" | "streams" }
  | { readonly code: "server_not_running" }
  | { readonly code: "internal_error" };

export type AnyFault =
  | Fault
  | StorageFault
  | AuditLogDamagedFault
  | AuditMaintenanceFault
  | LicenseFileFault
  | TrustClosedFault
  | ConfirmationCodeFault
  | QrFramesFault
  | TextTooLongFault
  | MaintenanceFault
  | Exclude<AccessFault, { readonly code: "unauthorized" | "too_many_requests" }>
  | RequestFault;
export type FaultCode = AnyFault["code"];

/** The body of every refusal, on every path. */
export interface RefusalReply {
  readonly status: number;
  readonly code: FaultCode;
  readonly message: string;
}

/**
 * Thrown to leave a handler with a fault; `onError` of the app turns it into the reply. Not an
 * Error: the stack trace would never be shown, and capturing it takes a tenth of the time of a
 * refusal.
 */
export class Refusal {
  readonly fault: AnyFault;

  constructor(fault: AnyFault) {
    this.fault = fault;
  }
}

export function refuse(fault: AnyFault): never {
  throw new Refusal(fault);
}

export function unwrap<T>(result: Result<T, AnyFault>): T {
  return result.ok ? result.value : refuse(result.fault);
}

/** The fault of a thrown value; null when it is a bug in berth. */
export const faultOf = (error: unknown): AnyFault | null =>
  error instanceof Refusal ? error.fault : null;

export function refusalReply(fault: AnyFault): RefusalReply {
  const row = FAULT_MESSAGES[fault.code] as FaultMessage<FaultCode>;
  return { status: row.status, code: fault.code, message: row.message(fault) };
}

export const httpStatusOf = (code: FaultCode): number => FAULT_MESSAGES[code].status;
