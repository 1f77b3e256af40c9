import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../http/running-server.ts";
import { BUG_HINT, describeUnexpected, systemCode } from "../system-errors.ts";

/** The last words of a command. */
export interface CommandExit {
  readonly code: number;
  readonly error: string;
  readonly hint: string;
}

const DISK_FULL = /\((?:ENOSPC|EDQUOT|EFBIG)\)$/;

/** What a command refused, in its words; what was a bug in it is one here. */
export function toMaintenanceFault({ code, error, hint }: CommandExit): MaintenanceFault {
  if (hint === BUG_HINT) throw new Error(error);
  if (DISK_FULL.test(error)) return { code: "storage_full" };
  const what = error === "" ? `the command exited with code ${code}` : error;
  return { code: "maintenance_failed", reason: hint === "" ? what : `${what}; ${hint}` };
}

/** What the kernel refuses, as a command would say it. */
export function catchSystemError<T>(work: () => T): Result<T, MaintenanceFault> {
  try {
    return ok(work());
  } catch (error) {
    if (systemCode(error) === null) throw error;
    const { message, hint } = describeUnexpected(error);
    return err(toMaintenanceFault({ code: 1, error: message, hint }));
  }
}
