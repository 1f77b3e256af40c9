import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import { describeError, toJsonRefusal } from "../frame/error-report.ts";
import type { JsonRefusal } from "../frame/json-refusal.ts";
import { systemCode, withSystemCode } from "../frame/system-errors.ts";

export interface CommandExit {
  readonly exitCode: number;
  /** Why the command failed; null: it did not, or it was killed before it could say why. */
  readonly refusal: JsonRefusal | null;
}

const DISK_FULL_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Converts the refusal of a command; throws if the command reported a bug. */
export function toMaintenanceFault({ exitCode, refusal }: CommandExit): MaintenanceFault {
  if (refusal === null) {
    return { code: "maintenance_failed", reason: `the command exited with code ${exitCode}` };
  }
  const { code, message, hint } = refusal;
  if (code === "internal_error") throw new Error(message);
  if (DISK_FULL_CODES.has(code)) return { code: "storage_full" };
  const parts = [withSystemCode(message, code), ...(hint === null ? [] : [hint])];
  return { code: "maintenance_failed", reason: parts.join("; ") };
}

/** Converts a system error to the fault that a command would cause. */
export function catchSystemError<T>(action: () => T): Result<T, MaintenanceFault> {
  try {
    return ok(action());
  } catch (error) {
    if (systemCode(error) === null) throw error;
    const { exitCode, refusal } = describeError(error);
    return err(toMaintenanceFault({ exitCode, refusal: toJsonRefusal(refusal) }));
  }
}
