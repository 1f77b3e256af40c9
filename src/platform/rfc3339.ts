import type { Instant } from "../domain/time.ts";

/** UTC with milliseconds and `Z`: how every instant is shown. */
export const rfc3339 = (at: Instant): string => new Date(at).toISOString();
