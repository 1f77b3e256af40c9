import { expect, test } from "bun:test";
import { generateKey } from "../../src/license/keys.ts";
import { verifyLicense } from "../../src/license/license.ts";
import { verifyTrustDocument } from "../../src/license/trust.ts";
import { openAppliance } from "../support/api.ts";
import { granted } from "../support/licensed-store.ts";
import { answer, trustDocument, vendorWith } from "../support/vendor.ts";

const NOBODY = "0123456789ABCDEF";

test("a license that a vendor signed in another's name is none", async () => {
  const site = await openAppliance();
  const { document } = granted(await site.licensing.request("cad", null, "test"));
  const own = await answer(document, 7);
  const anothers = await answer(document, 7, {}, { iss: NOBODY });
  expect((await verifyLicense(own, [vendorWith()])).ok).toBe(true);
  const refused = { ok: false, fault: "is not a license" };
  expect(await verifyLicense(anothers, [vendorWith()])).toMatchObject(refused);
});

test("a vendor nobody knows yet is named after its first key, or is nobody", async () => {
  const key = await generateKey();
  const known = () => null;
  expect((await verifyTrustDocument(await trustDocument({}, key), known)).ok).toBe(true);
  const squatting = await trustDocument({ vendor: NOBODY }, key);
  const refused = { ok: false, fault: "is not a vendor's trust document" };
  expect(await verifyTrustDocument(squatting, known)).toMatchObject(refused);
});
