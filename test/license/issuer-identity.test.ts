import { expect, test } from "bun:test";
import { generateKey } from "../../src/license/documents/keys.ts";
import { verifyLicense } from "../../src/license/documents/license.ts";
import { verifyTrustDocument } from "../../src/license/documents/trust.ts";
import { openAppliance } from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { answerRequest, makeTrustDocument, makeVendor } from "../support/vendor.ts";

const UNKNOWN_ID = "0123456789ABCDEF";

test("verifyLicense refuses a license that names another vendor than its signer", async () => {
  const site = await openAppliance();
  const { document } = unwrap(await site.licensing.request("cad", null, "test"));
  const valid = await answerRequest(document, 7);
  const forged = await answerRequest(document, 7, {}, { iss: UNKNOWN_ID });
  expect((await verifyLicense(valid, [makeVendor()])).ok).toBe(true);
  const refusal = { ok: false, fault: { wrong: "content", expected: "license" } };
  expect(await verifyLicense(forged, [makeVendor()])).toMatchObject(refusal);
});

test("verifyTrustDocument refuses a vendor whose id is not that of its root", async () => {
  const root = await generateKey();
  expect((await verifyTrustDocument(await makeTrustDocument({}, root))).ok).toBe(true);
  const forged = await makeTrustDocument({ vendor: UNKNOWN_ID }, root);
  const refusal = { ok: false, fault: { wrong: "content", expected: "trust" } };
  expect(await verifyTrustDocument(forged)).toMatchObject(refusal);
});
