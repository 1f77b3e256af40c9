// Which vendors' licenses are accepted.
import { describe, expect, test } from "bun:test";
import {
  fingerprintOf,
  keyIdOf,
  generateKey,
  publicPart,
} from "../../../../src/license/documents/keys.ts";
import type { VendorReply } from "../../../../src/http/routes/trust/trust.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import {
  answerRequest,
  VENDOR_KEY,
  VENDOR_PRODUCTS,
  makeTrustDocument,
} from "../../../support/vendor.ts";

const LIST = "/api/admin/v1/trust";
const SHOW = "/api/admin/v1/trust/show";
const ADD = "/api/admin/v1/trust/add";
const REMOVE = "/api/admin/v1/trust/remove";
const RETURN_LICENSE = "/api/admin/v1/licenses/remove";

const OTHER = await generateKey();

const trustedVendor = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Initrode",
  version: 1,
  products: VENDOR_PRODUCTS,
  fingerprint: fingerprintOf(VENDOR_KEY),
};

const add = (site: Appliance, license: string) => site.post<VendorReply>(ADD, { license });
const list = async (site: Appliance) => expectOk(await site.get<VendorReply[]>(LIST));
const otherTrust = (products = ["theirs"], version = 1) =>
  makeTrustDocument({ products, version, name: "Chotchkie's" }, OTHER);

describe("GET /api/admin/v1/trust", () => {
  test("lists every trusted vendor with its fingerprint", async () => {
    const site = await openAppliance({ licenses: {} });
    expect(await list(site)).toEqual([trustedVendor]);
    const added = expectOk(await add(site, await otherTrust()));
    expect(added).toEqual({
      vendor: keyIdOf(OTHER),
      name: "Chotchkie's",
      version: 1,
      products: ["theirs"],
      fingerprint: fingerprintOf(OTHER),
    });
    expect(await list(site)).toEqual([trustedVendor, added]);
  });
});

describe("trust/show", () => {
  const show = (site: Appliance, license: string) => site.post<VendorReply>(SHOW, { license });

  test("replies like trust/add and changes nothing", async () => {
    const site = await openAppliance();
    const [before, written] = [await list(site), site.lastSeq()];
    const preview = expectOk(await show(site, await otherTrust()));
    expect(await list(site)).toEqual(before);
    expect(site.lastSeq()).toBe(written);
    expect(expectOk(await add(site, await otherTrust()))).toEqual(preview);
  });

  test("refuses a forged, older, wrong or empty document as trust/add does", async () => {
    const site = await openAppliance();
    expectOk(await add(site, await otherTrust(["theirs"], 2)));
    const untrustedKey = await generateKey();
    const keys = [publicPart(untrustedKey)];
    const documents = [
      await makeTrustDocument({ vendor: keyIdOf(VENDOR_KEY), version: 2, keys }, untrustedKey),
      await otherTrust(["more"], 1),
      await answerRequest(await site.makeRequestDocument(), 9),
      "no document",
    ];
    for (const document of documents) {
      await expectRefusedUnchanged(site, 400, "invalid_license_file", () => show(site, document));
    }
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => show(site, " "));
  });
});

describe("trust/add", () => {
  test.each([
    ["plain text", "text/plain"],
    ["plain text in UTF-8", "Text/Plain; charset=utf-8"],
  ])("accepts the document as %s", async (_what, type) => {
    const site = await openAppliance();
    const raw = { body: `${await otherTrust()}\n`, headers: { "content-type": type } };
    const added = expectOk(await site.send<VendorReply>("POST", ADD, raw));
    expect(added.vendor).toBe(keyIdOf(OTHER));
  });

  test("changes nothing for the same document, and a newer document replaces it", async () => {
    const site = await openAppliance();
    expectOk(await add(site, await otherTrust()));
    const written = site.lastSeq();
    expectOk(await add(site, await otherTrust()));
    expect(site.lastSeq()).toBe(written);
    const newer = expectOk(await add(site, await otherTrust(["theirs", "more"], 2)));
    expect(newer).toMatchObject({ version: 2, products: ["theirs", "more"] });
    expect((await list(site))[1]).toEqual(newer);
    await expectRefusedUnchanged(site, 400, "invalid_license_file", async () =>
      add(site, await otherTrust()),
    );
  });

  test("accepts a newer document only if it is signed with a trusted key", async () => {
    const site = await openAppliance();
    const untrustedKey = await generateKey();
    const keys = [publicPart(untrustedKey)];
    const forged = await makeTrustDocument(
      { vendor: keyIdOf(VENDOR_KEY), version: 2, keys },
      untrustedKey,
    );
    await expectRefusedUnchanged(site, 400, "invalid_license_file", () => add(site, forged));
    const rotated = await makeTrustDocument({
      version: 2,
      keys: [...keys, publicPart(VENDOR_KEY)],
    });
    expectOk(await add(site, rotated));
    const license = await answerRequest(
      await site.makeRequestDocument(),
      7,
      {},
      { iss: keyIdOf(VENDOR_KEY) },
      untrustedKey,
    );
    expectOk(await site.upload(license));
  });

  test("refuses a newer document without the key of an installed license until that is renewed", async () => {
    const site = await openAppliance();
    const bothKeys = { version: 2, keys: [publicPart(OTHER), publicPart(VENDOR_KEY)] };
    expectOk(await add(site, await makeTrustDocument(bothKeys)));
    const withoutOldKey = await makeTrustDocument({ version: 3, keys: [publicPart(OTHER)] });
    const message = await expectRefusedUnchanged(site, 400, "invalid_license_file", () =>
      add(site, withoutOldKey),
    );
    expect(message).toContain("leaves out the key that license 1 is signed with");

    const renewalClaims = { serial: 2, iss: keyIdOf(VENDOR_KEY) };
    const renewed = await answerRequest(
      await site.makeRequestDocument(),
      1,
      {},
      renewalClaims,
      OTHER,
    );
    unwrap(await site.licensing.installLicense(renewed, "test"));
    expect(expectOk(await add(site, withoutOldKey)).version).toBe(3);
  });

  test("is refused for a product of another vendor", async () => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "untrusted_vendor", async () =>
      add(site, await otherTrust(["theirs", "cad"])),
    );
    expect(message).toBe(
      `a product belongs to one vendor, and the trusted vendor ${keyIdOf(VENDOR_KEY)} already has one of these products`,
    );
    expect(await list(site)).toEqual([trustedVendor]);
  });

  test("is refused for a text that is no trust document", async () => {
    const site = await openAppliance();
    const texts = [
      "nonsense",
      "a.b.c",
      await site.makeRequestDocument(),
      await answerRequest(await site.makeRequestDocument(), 7),
    ];
    for (const text of texts) {
      await expectRefusedUnchanged(site, 400, "invalid_license_file", () => add(site, text));
    }
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => site.post(ADD, {}));
  });
});

describe("trust/remove", () => {
  test("removes a vendor without licenses, whose licenses are refused from then on", async () => {
    const site = await openAppliance({ licenses: {} });
    const request = await site.makeRequestDocument();
    const removed = await site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) });
    expect(expectOk(removed)).toEqual({ vendor: keyIdOf(VENDOR_KEY) });
    expect(await list(site)).toEqual([]);
    await expectRefusedUnchanged(site, 400, "untrusted_vendor", async () =>
      site.upload(await answerRequest(request, 7)),
    );
  });

  test("is refused while licenses of the vendor are installed, until they are returned", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: {} } });
    const message = await expectRefusedUnchanged(site, 400, "vendor_in_use", () =>
      site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) }),
    );
    expect(message).toStartWith("licenses of this vendor are installed (2)");
    for (const license_id of ["1", "2"]) expectOk(await site.post(RETURN_LICENSE, { license_id }));
    expectOk(await site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) }));
  });

  test.each([
    ["missing_parameters", {}],
    ["missing_parameters", { vendor: "" }],
    ["unknown_vendor", { vendor: "constructor" }],
    ["unknown_vendor", { vendor: "0".repeat(16) }],
  ])("is refused with %s for %j", async (code, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.post(REMOVE, fields));
  });
});
