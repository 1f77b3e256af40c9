import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import { BUG_HINT, describeUnexpected, systemCode } from "../frame/system-errors.ts";

/** The exit code of a command, and the last error and hint that it printed. */
export interface CommandExit {
  readonly code: number;
  readonly error: string;
  readonly hint: string;
}

const DISK_FULL = /\((?:ENOSPC|EDQUOT|EFBIG)\)$/;

/** Converts the error of a command; throws if the command reported a bug. */
export function toMaintenanceFault({ code, error, hint }: CommandExit): MaintenanceFault {
  if (hint === BUG_HINT) throw new Error(error);
  if (DISK_FULL.test(error)) return { code: "storage_full" };
  const message = error === "" ? `the command exited with code ${code}` : error;
  return { code: "maintenance_failed", reason: hint === "" ? message : `${message}; ${hint}` };
}

/** Converts a system error to the fault that a command would cause. */
export function catchSystemError<T>(action: () => T): Result<T, MaintenanceFault> {
  try {
    return ok(action());
  } catch (error) {
    if (systemCode(error) === null) throw error;
    const { message, hint } = describeUnexpected(error);
    return err(toMaintenanceFault({ code: 1, error: message, hint }));
  }
}
