import { expect, test } from "bun:test";
import { generateKey } from "../../src/license/keys.ts";
import { verifyLicense } from "../../src/license/license.ts";
import { verifyTrustDocument } from "../../src/license/trust.ts";
import { openAppliance } from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { answerRequest, makeTrustDocument, makeVendor } from "../support/vendor.ts";

const NOBODY = "0123456789ABCDEF";

test("a license that a vendor signed in another's name is none", async () => {
  const site = await openAppliance();
  const { document } = unwrap(await site.licensing.request("cad", null, "test"));
  const own = await answerRequest(document, 7);
  const anothers = await answerRequest(document, 7, {}, { iss: NOBODY });
  expect((await verifyLicense(own, [makeVendor()])).ok).toBe(true);
  const refused = { ok: false, fault: "is not a license" };
  expect(await verifyLicense(anothers, [makeVendor()])).toMatchObject(refused);
});

test("a vendor nobody knows yet is named after its first key, or is nobody", async () => {
  const key = await generateKey();
  const known = () => null;
  expect((await verifyTrustDocument(await makeTrustDocument({}, key), known)).ok).toBe(true);
  const squatting = await makeTrustDocument({ vendor: NOBODY }, key);
  const refused = { ok: false, fault: "is not a vendor's trust document" };
  expect(await verifyTrustDocument(squatting, known)).toMatchObject(refused);
});
