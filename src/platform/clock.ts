import { instant, type Instant } from "../domain/time.ts";

/** The wall clock. */
export const wallClock = (): Instant => instant(Date.now());
