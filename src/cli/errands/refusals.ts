import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../http/running-server.ts";
import { BUG_HINT, describeUnexpected, systemCode } from "../system-errors.ts";

/** The last words of a command. */
export interface LastWords {
  readonly code: number;
  readonly error: string;
  readonly hint: string;
}

const NO_ROOM = /\((?:ENOSPC|EDQUOT|EFBIG)\)$/;

/** What a command refused, in its words; what was a bug in it is one here. */
export function refusalOf({ code, error, hint }: LastWords): MaintenanceFault {
  if (hint === BUG_HINT) throw new Error(error);
  if (NO_ROOM.test(error)) return { code: "storage_full" };
  const what = error === "" ? `the command exited with code ${code}` : error;
  return { code: "maintenance_failed", reason: hint === "" ? what : `${what}; ${hint}` };
}

/** What the kernel refuses, as a command would say it. */
export function thrownAs<T>(work: () => T): Result<T, MaintenanceFault> {
  try {
    return ok(work());
  } catch (error) {
    if (systemCode(error) === null) throw error;
    const { message, hint } = describeUnexpected(error);
    return err(refusalOf({ code: 1, error: message, hint }));
  }
}
