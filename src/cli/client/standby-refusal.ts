import { Failure } from "../frame/command.ts";

const CODES: ReadonlySet<string | null> = new Set(["standby", "log_unavailable"]);

/** Whether a server refused because it does not lead its pair now: GET pair says more. */
export const isStandbyRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && CODES.has(error.code);
