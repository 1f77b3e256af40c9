import { afterEach, beforeEach, spyOn } from "bun:test";
import { SyncTimes } from "../../src/store/store-health.ts";

/**
 * Suppresses the warning about slow syncs, for tests that compare every warning of a server:
 * whether the disk of this machine is slow must not matter.
 */
export function tellNoSlowSyncs(): void {
  let times: { mockRestore(): void } | null = null;
  beforeEach(() => {
    times = spyOn(SyncTimes.prototype, "add").mockImplementation(() => {});
  });
  afterEach(() => times?.mockRestore());
}
