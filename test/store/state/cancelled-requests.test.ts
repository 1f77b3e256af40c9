import { describe, expect, test } from "bun:test";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import {
  emptyAuditLogEnd,
  getSnapshotCheck,
  type Snapshot,
} from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { makeNewSite, requestIdFor } from "../../support/new-site.ts";
import { MONDAY } from "../../support/scenario.ts";

const HEAD = { seq: 1, sum: GENESIS, auditSeq: 1, auditSum: GENESIS };

/** As it is written to state.json and read again. */
const writeAndRead = (state: State): Snapshot =>
  JSON.parse(JSON.stringify(encodeSnapshot(state, HEAD, emptyAuditLogEnd))) as Snapshot;

describe("cancelled requests in state.json", () => {
  test("are read again", () => {
    const state = makeNewSite();
    evolve(state, {
      type: "RequestCancelled",
      at: MONDAY,
      request: requestIdFor(1),
      product: null,
      licenseKey: null,
      peer: "10.0.0.1",
    });
    const snapshot = writeAndRead(state);
    expect(getSnapshotCheck().Check(snapshot)).toBe(true);
    expect([...decodeSnapshot(snapshot).cancelledRequests]).toEqual([requestIdFor(1)]);
  });
});
