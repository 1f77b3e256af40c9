import type { Result } from "../domain/result.ts";
import {
  describeForCommandLine,
  FAULTS,
  messageOf,
  wrongFieldOf,
  type CommandLineTexts,
} from "../faults/catalog.ts";
import type { AnyFault, FaultCode } from "../faults/fault-types.ts";

/** The body of every refusal, on every path. */
export interface RefusalReply {
  readonly status: number;
  readonly code: FaultCode;
  readonly message: string;
  /** The one field of the request that is wrong; absent: none, or more than one. */
  readonly field?: string;
}

/**
 * Thrown to leave a handler with a fault; `onError` of the app turns it into the reply. Not an
 * Error: the stack trace would never be shown, and capturing it takes a tenth of the time of a
 * refusal.
 */
export class Refusal {
  readonly fault: AnyFault;
  /** What the request has done nevertheless, as a sentence; empty: nothing. */
  readonly doneBefore: string;

  constructor(fault: AnyFault, doneBefore = "") {
    this.fault = fault;
    this.doneBefore = doneBefore;
  }
}

export function refuse(fault: AnyFault, doneBefore = ""): never {
  throw new Refusal(fault, doneBefore);
}

export function unwrap<T>(result: Result<T, AnyFault>): T {
  return result.ok ? result.value : refuse(result.fault);
}

/** The fault of a thrown value; null when it is a bug in berth. */
export const faultOf = (error: unknown): AnyFault | null =>
  error instanceof Refusal ? error.fault : null;

/** Adds to a refusal what the request did before. */
export const addDoneBefore = <R extends RefusalReply>(reply: R, error: unknown): R =>
  error instanceof Refusal && error.doneBefore !== ""
    ? { ...reply, message: `${error.doneBefore}. Then the request failed: ${reply.message}` }
    : reply;

export function refusalReply(fault: AnyFault): RefusalReply {
  const { code } = fault;
  const field = wrongFieldOf(fault);
  const reply = { status: httpStatusOf(code), code, message: messageOf(fault) };
  return field === null ? reply : { ...reply, field };
}

/** Commands send this header, to get the texts that an operator at the command line needs. */
export const AUDIENCE_HEADER = "x-berth-audience";
export const COMMAND_LINE_AUDIENCE = "command-line";

export type CommandLineRefusal = RefusalReply & CommandLineTexts;

/** The body of a refusal, for whom the request asks for it. */
export const refusalReplyFor = (
  { headers }: Request,
  fault: AnyFault,
): RefusalReply | CommandLineRefusal =>
  headers.get(AUDIENCE_HEADER) === COMMAND_LINE_AUDIENCE
    ? { ...refusalReply(fault), ...describeForCommandLine(fault) }
    : refusalReply(fault);

export const httpStatusOf = (code: FaultCode): number => FAULTS[code].status;
