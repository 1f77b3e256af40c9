/**
 * How long a test waits for an expected condition, in milliseconds. Only a failing test waits this
 * long, so the value allows for a busy machine.
 */
export const PATIENCE = 5 * 60_000;
