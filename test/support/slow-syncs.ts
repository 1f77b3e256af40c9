import { afterEach, beforeEach, spyOn } from "bun:test";
import { SyncTimes } from "../../src/store/store-health.ts";

/**
 * For tests of all that a server says of its state: that the disk of this machine is slow just now
 * is none of it.
 */
export function tellNoSlowSyncs(): void {
  let times: { mockRestore(): void } | null = null;
  beforeEach(() => {
    times = spyOn(SyncTimes.prototype, "add").mockImplementation(() => {});
  });
  afterEach(() => times?.mockRestore());
}
