// Which vendors' licenses are accepted.
import { describe, expect, test } from "bun:test";
import { fingerprintOf, generateKey, keyIdOf } from "../../../../src/license/documents/keys.ts";
import type { VendorReply } from "../../../../src/http/routes/trust/trust.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import {
  answerRequest,
  certifyKey,
  VENDOR,
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
  retired: [],
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
      retired: [],
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

  test("refuses a forged, wrong or empty document as trust/add does", async () => {
    const site = await openAppliance();
    const documents = [
      await makeTrustDocument({ vendor: keyIdOf(VENDOR_KEY), version: 2 }, OTHER),
      await answerRequest(await site.makeRequestDocument(), 9),
      VENDOR.issuing.cert,
      "no document",
    ];
    for (const document of documents) {
      await expectRefusedUnchanged(site, 400, "invalid_license_file", () => show(site, document));
    }
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => show(site, " "));
  });

  test("shows what a root has retired in any of its documents, also after it was removed", async () => {
    const site = await openAppliance();
    const retiring = await makeTrustDocument(
      { products: ["theirs"], version: 2, retired: ["A".repeat(16)] },
      OTHER,
    );
    expectOk(await add(site, retiring));
    expectOk(await site.post(REMOVE, { vendor: keyIdOf(OTHER) }));
    const newer = await makeTrustDocument(
      { products: ["theirs"], version: 3, retired: ["B".repeat(16)] },
      OTHER,
    );
    expect(expectOk(await show(site, newer)).retired).toEqual(["A".repeat(16), "B".repeat(16)]);
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
    await expectRefusedUnchanged(site, 400, "trust_older", async () =>
      add(site, await otherTrust()),
    );
    await expectRefusedUnchanged(site, 400, "trust_older", async () =>
      add(site, await otherTrust(["theirs"], 2)),
    );
  });

  test("accepts a newer document of a known root whatever versions are missing between", async () => {
    const site = await openAppliance();
    const newer = await makeTrustDocument({ version: 9, products: ["cad"] });
    expect(expectOk(await add(site, newer))).toMatchObject({ version: 9, products: ["cad"] });
    expect((await list(site))[0]?.fingerprint).toBe(fingerprintOf(VENDOR_KEY));
  });

  test("of a newer version lets in what a new key signed, and nothing of a retired one", async () => {
    const site = await openAppliance();
    const newKey = await certifyKey(VENDOR_KEY, { trust: 2 });
    const signed = { id: VENDOR.id, issuing: newKey };
    const license = await answerRequest(await site.makeRequestDocument(), 7, {}, {}, signed);
    const message = await expectRefusedUnchanged(site, 400, "trust_outdated", () =>
      site.upload(license),
    );
    expect(message).toContain("version 2 of the trust document of Initrode");
    const retired = [keyIdOf(VENDOR.issuing.key)];
    expectOk(await add(site, await makeTrustDocument({ version: 2, retired })));
    expectOk(await site.upload(license));
    expectOk(await site.upload(license));
    const ofRetiredKey = await answerRequest(await site.makeRequestDocument(), 8);
    await expectRefusedUnchanged(site, 400, "retired_key", () => site.upload(ofRetiredKey));
    const { findings } = expectOk(
      await site.get<{ findings: { code: string }[] }>("/api/admin/v1/status"),
    );
    const codes = findings.map(({ code }) => code);
    expect(codes).toContain("license_key_retired");
    expect(codes).toContain("trust_changed");
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
