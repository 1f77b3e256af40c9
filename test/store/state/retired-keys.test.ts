import { expect, test } from "bun:test";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { isKeyRetired } from "../../../src/domain/trust/trust.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import {
  emptyAuditLogEnd,
  getSnapshotCheck,
  type Snapshot,
} from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { makeNewSite, SIGNER, VENDOR } from "../../support/new-site.ts";
import { MONDAY } from "../../support/scenario.ts";

const HEAD = { seq: 1, sum: GENESIS, auditSeq: 1, auditSum: GENESIS };

test("state.json keeps the retired keys of a vendor that was removed, with its root and version", () => {
  const state = makeNewSite();
  const [at, peer, { vendor }] = [MONDAY, "10.0.0.1", VENDOR];
  const document = { ...VENDOR, version: 7, retired: [SIGNER.key] };
  evolve(state, { type: "VendorTrusted", at, vendor: document, peer });
  evolve(state, { type: "VendorDistrusted", at, vendor, peer });
  const text = JSON.stringify(encodeSnapshot(state, HEAD, emptyAuditLogEnd));
  const snapshot = JSON.parse(text) as Snapshot;
  expect(getSnapshotCheck().Check(snapshot)).toBe(true);
  const read = decodeSnapshot(snapshot);
  expect(read.vendors.has(vendor)).toBe(false);
  expect(read.retiredKeys).toEqual(state.retiredKeys);
  expect(read.retiredKeys.get(vendor)).toMatchObject({ jwk: VENDOR.jwk, version: 7 });
  expect(isKeyRetired(read, vendor, SIGNER.key)).toBe(true);
});
