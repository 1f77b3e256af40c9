/**
 * How long a test waits for what must come. Only a test that has failed waits this long, so it is
 * long enough for a machine that has other work to do.
 */
export const PATIENCE = 5 * 60_000;
