/** The message alone: `String(error)` would put the name of its class in front of it. */
export const messageOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
