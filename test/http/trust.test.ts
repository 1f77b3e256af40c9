// Whose licenses are accepted, and how licenses are given back.
import { describe, expect, test } from "bun:test";
import { fingerprintOf, keyIdOf, generateKey, publicPart } from "../../src/license/keys.ts";
import { verifyReceipt } from "../../src/license/receipt.ts";
import type { VendorReply } from "../../src/http/routes/trust.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { rfc3339 } from "../../src/platform/rfc3339.ts";
import { minutesLater, MONDAY } from "../support/scenario.ts";
import {
  answerRequest,
  VENDOR_KEY,
  VENDOR_PRODUCTS,
  makeTrustDocument,
} from "../support/vendor.ts";

const LIST = "/api/admin/v1/trust";
const SHOW = "/api/admin/v1/trust/show";
const ADD = "/api/admin/v1/trust/add";
const REMOVE = "/api/admin/v1/trust/remove";
const GIVE_BACK = "/api/admin/v1/licenses/remove";

const OTHER = await generateKey();

const shown = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Initrode",
  version: 1,
  products: VENDOR_PRODUCTS,
  fingerprint: fingerprintOf(VENDOR_KEY),
};

const add = (site: Appliance, license: string) => site.post<VendorReply>(ADD, { license });
const list = async (site: Appliance) => expectOk(await site.get<VendorReply[]>(LIST));
const theirs = (products = ["theirs"], version = 1) =>
  makeTrustDocument({ products, version, name: "Chotchkie's" }, OTHER);

describe("the list", () => {
  test("shows every trusted vendor with the fingerprint to compare", async () => {
    const site = await openAppliance({ licenses: {} });
    expect(await list(site)).toEqual([shown]);
    const added = expectOk(await add(site, await theirs()));
    expect(added).toEqual({
      vendor: keyIdOf(OTHER),
      name: "Chotchkie's",
      version: 1,
      products: ["theirs"],
      fingerprint: fingerprintOf(OTHER),
    });
    expect(await list(site)).toEqual([shown, added]);
  });
});

describe("showing a document", () => {
  const show = (site: Appliance, license: string) => site.post<VendorReply>(SHOW, { license });

  test("says what adding it would, and changes nothing", async () => {
    const site = await openAppliance();
    const [before, written] = [await list(site), site.lastSeq()];
    const said = expectOk(await show(site, await theirs()));
    expect(await list(site)).toEqual(before);
    expect(site.lastSeq()).toBe(written);
    expect(expectOk(await add(site, await theirs()))).toEqual(said);
  });

  test("refuses what adding would: a forged one, an older one, another kind, nothing", async () => {
    const site = await openAppliance();
    expectOk(await add(site, await theirs(["theirs"], 2)));
    const stranger = await generateKey();
    const keys = [publicPart(stranger)];
    const documents = [
      await makeTrustDocument({ vendor: keyIdOf(VENDOR_KEY), version: 2, keys }, stranger),
      await theirs(["more"], 1),
      await answerRequest(await site.makeRequestDocument(), 9),
      "no document",
    ];
    for (const document of documents) {
      await expectRefusedUnchanged(site, 400, "invalid_license_file", () => show(site, document));
    }
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => show(site, " "));
  });
});

describe("trusting", () => {
  test.each([
    ["plain text", "text/plain"],
    ["plain text in UTF-8", "Text/Plain; charset=utf-8"],
  ])("takes the document as %s", async (_what, type) => {
    const site = await openAppliance();
    const raw = { body: `${await theirs()}\n`, headers: { "content-type": type } };
    const added = expectOk(await site.send<VendorReply>("POST", ADD, raw));
    expect(added.vendor).toBe(keyIdOf(OTHER));
  });

  test("again with the same document changes nothing, a newer one takes its place", async () => {
    const site = await openAppliance();
    expectOk(await add(site, await theirs()));
    const written = site.lastSeq();
    expectOk(await add(site, await theirs()));
    expect(site.lastSeq()).toBe(written);
    const newer = expectOk(await add(site, await theirs(["theirs", "more"], 2)));
    expect(newer).toMatchObject({ version: 2, products: ["theirs", "more"] });
    expect((await list(site))[1]).toEqual(newer);
    await expectRefusedUnchanged(site, 400, "invalid_license_file", async () =>
      add(site, await theirs()),
    );
  });

  test("a newer document needs a key that is trusted already", async () => {
    const site = await openAppliance();
    const stranger = await generateKey();
    const keys = [publicPart(stranger)];
    const stolen = await makeTrustDocument(
      { vendor: keyIdOf(VENDOR_KEY), version: 2, keys },
      stranger,
    );
    await expectRefusedUnchanged(site, 400, "invalid_license_file", () => add(site, stolen));
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
      stranger,
    );
    expectOk(await site.upload(license));
  });

  test("a newer document without the key of an installed license is refused until it is renewed", async () => {
    const site = await openAppliance();
    const both = { version: 2, keys: [publicPart(OTHER), publicPart(VENDOR_KEY)] };
    expectOk(await add(site, await makeTrustDocument(both)));
    const alone = await makeTrustDocument({ version: 3, keys: [publicPart(OTHER)] });
    const message = await expectRefusedUnchanged(site, 400, "invalid_license_file", () =>
      add(site, alone),
    );
    expect(message).toContain("leaves out the key that license 1 is signed with");

    const named = { serial: 2, iss: keyIdOf(VENDOR_KEY) };
    const renewed = await answerRequest(await site.makeRequestDocument(), 1, {}, named, OTHER);
    unwrap(await site.licensing.installLicense(renewed, "test"));
    expect(expectOk(await add(site, alone)).version).toBe(3);
  });

  test("is refused where another vendor has the product", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "untrusted_vendor", async () =>
      add(site, await theirs(["theirs", "cad"])),
    );
    expect(await list(site)).toEqual([shown]);
  });

  test("is refused for what is no trust document", async () => {
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

describe("no longer trusting", () => {
  test("is done for a vendor with nothing installed, who is a stranger from then on", async () => {
    const site = await openAppliance({ licenses: {} });
    const asked = await site.makeRequestDocument();
    const removed = await site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) });
    expect(expectOk(removed)).toEqual({ vendor: keyIdOf(VENDOR_KEY) });
    expect(await list(site)).toEqual([]);
    await expectRefusedUnchanged(site, 400, "untrusted_vendor", async () =>
      site.upload(await answerRequest(asked, 7)),
    );
  });

  test("is refused while licenses of theirs are installed, until they are given back", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: {} } });
    const message = await expectRefusedUnchanged(site, 400, "vendor_in_use", () =>
      site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) }),
    );
    expect(message).toStartWith("licenses of this vendor are installed (2)");
    for (const license_id of ["1", "2"]) expectOk(await site.post(GIVE_BACK, { license_id }));
    expectOk(await site.post(REMOVE, { vendor: keyIdOf(VENDOR_KEY) }));
  });

  test.each([
    ["missing_parameters", {}],
    ["missing_parameters", { vendor: "" }],
    ["unknown_vendor", { vendor: "constructor" }],
    ["unknown_vendor", { vendor: "0".repeat(16) }],
  ])("is %s for %j", async (code, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.post(REMOVE, fields));
  });
});

describe("giving a license back", () => {
  const giveBack = async (site: Appliance, fields: object): Promise<string> =>
    expectOk(await site.post<{ receipt: string }>(GIVE_BACK, { ...fields })).receipt;

  test("gives a receipt the vendor can check, and ends the license", async () => {
    const site = await openAppliance();
    const { identity } = site.services;
    expectOk(await site.addConsumption({ consumptions: "4" }));
    site.clock.now = minutesLater(5);
    const receipt = await giveBack(site, { license_id: "1" });
    expect(unwrap(await verifyReceipt(receipt))).toEqual({
      appliance: identity.id,
      jwk: publicPart(identity.key),
      license_id: 1,
      serial: 1,
      vendor: keyIdOf(VENDOR_KEY),
      product: "cad",
      removed_at: "2026-03-02T09:05:00.000Z",
      total_consumptions: 4,
      borrows: [],
    });
    await expectRefusedUnchanged(site, 400, "license_not_found", () =>
      site.register({ user: "ada" }),
    );
    expect(expectOk(await site.licenses())).toEqual([]);
  });

  test("again gives the same receipt, character for character, also after a restart", async () => {
    const site = await openAppliance();
    const receipt = await giveBack(site, { license_id: 1 });
    site.clock.now = minutesLater(99);
    const written = site.lastSeq();
    expect(await giveBack(site, { license_id: 1 })).toBe(receipt);
    expect(site.lastSeq()).toBe(written);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await giveBack(next, { license_id: 1 })).toBe(receipt);
  });

  test("waits for borrowed slots, unless they go along by name", async () => {
    const site = await openAppliance();
    expectOk(await site.borrow({ user: "ada" }));
    expectOk(await site.register({ user: "bob" }));
    for (const with_borrows of [undefined, "false", false, ""]) {
      await expectRefusedUnchanged(site, 400, "slots_borrowed", () =>
        site.post(GIVE_BACK, { license_id: "1", with_borrows }),
      );
    }
    const receipt = await giveBack(site, { license_id: "1", with_borrows: true });
    expect(unwrap(await verifyReceipt(receipt)).borrows).toEqual(["ada"]);
  });

  test("is for good: the file that was here does not come in again, nor does its renewal", async () => {
    const site = await openAppliance({ licenses: {} });
    const givenBack = `license 7 was returned on ${rfc3339(MONDAY)}; create a new request`;
    const file = await answerRequest(await site.makeRequestDocument(), 7);
    expectOk(await site.upload(file));
    await giveBack(site, { license_id: "7" });
    const message = await expectRefusedUnchanged(site, 400, "stale_license", () =>
      site.upload(file),
    );
    expect(message).toBe(givenBack);
    const renewal = await answerRequest(
      await site.makeRequestDocument(),
      7,
      {},
      { serial: 2, request_id: null, nonce: null },
    );
    expect(
      await expectRefusedUnchanged(site, 400, "request_unknown", () => site.upload(renewal)),
    ).toBe(givenBack);
    const anew = await answerRequest(await site.makeRequestDocument(), 7);
    await expectRefusedUnchanged(site, 400, "stale_license", () => site.upload(anew));
    expectOk(
      await site.upload(
        await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 2 }),
      ),
    );
  });

  test.each(["borrow", "addConsumption", "addFeatureConsumption"] as const)(
    "a keyed %s from before is refused, not answered from memory",
    async (call) => {
      const site = await openAppliance();
      const asked = { user: "ada", product: "cad", feature: "plot" };
      const keyed = { "idempotency-key": "k-1" };
      expectOk<unknown>(await site[call](asked, keyed));
      await giveBack(site, { license_id: "1", with_borrows: true });
      await expectRefusedUnchanged(site, 400, "license_not_found", () => site[call](asked, keyed));
      expectOk(await site.get("/api/v4/health"));
    },
  );

  test.each([
    ["missing_parameters", {}],
    ["license_not_found", { license_id: "3" }],
    ["invalid_number", { license_id: "one" }],
    ["invalid_boolean", { license_id: "1", with_borrows: "yes" }],
  ])("is %s for %j", async (code, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.post(GIVE_BACK, fields));
  });
});
