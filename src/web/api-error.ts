/** The server refused the request, or did not answer. The message is meant for people. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  /** The field of the request that was refused; null: none, or not known. */
  readonly field: string | null;

  constructor(code: string, message: string, status: number, field: string | null = null) {
    super(message);
    this.code = code;
    this.status = status;
    this.field = field;
  }
}

/** Whether the request got no answer, so that the same request may succeed later. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 0;

/** Whether a change may have been made although no answer came. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof ApiError && error.code === "outcome_unknown";

/** The text to show for anything that was thrown. */
export const errorMessageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
