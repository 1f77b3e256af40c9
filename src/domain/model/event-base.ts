import type { Instant } from "../time.ts";

export interface BaseEvent<T extends string> {
  readonly type: T;
  readonly at: Instant;
}
