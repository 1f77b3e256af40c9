import { describe, expect, test } from "bun:test";
import { createPolicy } from "../../../src/desk/issuing/airgap.ts";
import { adoptLicenses, prepareAdoptions } from "../../../src/desk/orders/adopt.ts";
import { describeOrder } from "../../../src/desk/orders/order-list.ts";
import { isOrderKey } from "../../../src/license/codes/order-key.ts";
import { AirgapSite } from "../../support/airgap-site.ts";
import { signNextTrust } from "../../support/desk-keys.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  codesOf,
  openSiteOf,
  readLedgerText,
  returnLicense,
} from "../../support/orders.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { MONDAY } from "../../support/scenario.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";

const TERMS = { slots: 4, customer: "Initech", borrow_hours: 24 };

describe("an adopted license", () => {
  test("gets an order with its terms and holder, and is renewed automatically from then on", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site, "sim", "ACME-1");
    const issued = await issueTestLicense(desk, request, { terms: TERMS });
    expect(codesOf(await answer(desk, await makeRequestFrom(site, "sim", "ACME-1")))).toEqual([
      "no_order",
    ]);
    const before = readLedgerText(folder);
    const planned = prepareAdoptions(desk, null, MONDAY);
    expect(readLedgerText(folder)).toBe(before);
    const { adoptions, notAdopted, customers } = await adoptLicenses(desk, null, MONDAY);
    expect([adoptions, notAdopted, customers]).toEqual([planned.adoptions, [], planned.customers]);
    expect(adoptions).toMatchObject([
      {
        customer: "Initech",
        order: {
          license_key: "ACME-1",
          is_own_key: false,
          appliances: 1,
          hosts: 1,
          moves: 1,
          allow_weak_binding: false,
          terms: { slots: 4, borrow_hours: 24, customer: null, license_key: null },
        },
        licenses: [{ license_id: issued.license_id }],
      },
    ]);
    const order = desk.ledger.orders.findOrder("ACME-1");
    expect(order && describeOrder(desk, order, MONDAY)).toMatchObject({
      state: "full",
      holders: 1,
    });
    const renewal = await answer(desk, await makeRequestFrom(site, "sim", "ACME-1"));
    expect(renewal).toMatchObject({
      outcome: "answered",
      license_id: issued.license_id,
      serial: 2,
    });
    expect((await adoptLicenses(desk, null, MONDAY)).adoptions).toEqual([]);
  });

  test("without a key gets one of the desk's making, which its next renewal has", async () => {
    const { desk, site } = await openDeskAndSite();
    const issued = await issueTestLicense(desk, await makeRequestFrom(site), { terms: TERMS });
    const { adoptions } = await adoptLicenses(desk, null, MONDAY);
    const order = adoptions[0]?.order;
    const license_key = order?.license_key ?? "";
    expect(isOrderKey(license_key)).toBe(true);
    expect(order?.adopted).toEqual([
      { license_id: issued.license_id, appliance: site.services.identity.id },
    ]);
    const renewal = await answer(desk, await makeRequestFrom(site));
    expect(renewal).toMatchObject({ outcome: "answered", serial: 2, license_key });
    // Another appliance can use the key only after a return.
    const other = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    expect(codesOf(await answer(desk, other))).toEqual(["order_full"]);
  });

  test("with a key at two appliances is in one order for both", async () => {
    const { desk, site } = await openDeskAndSite();
    for (const one of [site, await openSiteOf(desk)]) {
      const request = await makeRequestFrom(one, "sim", "ACME-1");
      await issueTestLicense(desk, request, { terms: TERMS, isNew: true });
    }
    const { adoptions } = await adoptLicenses(desk, null, MONDAY);
    expect(adoptions.map(({ order }) => order.appliances)).toEqual([2]);
    const third = await makeRequestFrom(await openSiteOf(desk), "sim", "ACME-1");
    expect(codesOf(await answer(desk, third))).toEqual(["order_full"]);
  });

  test("by code goes on with its policy", async () => {
    const { desk, site } = await openDeskAndSite();
    const terms = { product: "sim", slots: 3, customer: "Initech", valid_until: null };
    const policy = await createPolicy(desk, "sim-1", terms, MONDAY);
    const airgap = new AirgapSite(site, desk);
    const confirmNext = async () =>
      airgap.confirmAtDesk(policy, await airgap.requestActivationCode("ACME-1"), {
        licenseKey: "ACME-1",
      });
    await confirmNext();
    const { adoptions } = await adoptLicenses(desk, null, MONDAY);
    expect(adoptions[0]?.order.policy_id).toBe("sim-1");
    await confirmNext();
    expect(desk.ledger.issuedEntries()[0]).toMatchObject({ serial: 2, use: "renewal" });
  });
});

describe("a license is not adopted", () => {
  test("if no customer is named, unless the command names one", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site, "sim", "ACME-1"));
    const before = readLedgerText(folder);
    const { adoptions, notAdopted } = await adoptLicenses(desk, null, MONDAY);
    expect([adoptions, notAdopted.map(({ problem }) => problem)]).toEqual([
      [],
      ["no customer is named: --customer NAME names one"],
    ]);
    expect(readLedgerText(folder)).toBe(before);
    const named = await adoptLicenses(desk, "Globex", MONDAY);
    expect(named.adoptions.map(({ customer }) => customer)).toEqual(["Globex"]);
  });

  test("if its key has licenses of several products, and all others are", async () => {
    const { desk, site } = await openDeskAndSite();
    for (const product of ["sim", "ray"]) {
      const request = await makeRequestFrom(site, product, "ACME-1");
      await issueTestLicense(desk, request, { terms: TERMS, isNew: true });
    }
    await issueTestLicense(desk, await makeRequestFrom(site, "ray", "ACME-2"), {
      terms: TERMS,
      isNew: true,
    });
    const { adoptions, notAdopted } = await adoptLicenses(desk, null, MONDAY);
    expect(notAdopted.map(({ problem }) => problem)).toEqual([
      "one key for several products: sim, ray",
    ]);
    expect(adoptions.map(({ order }) => order.license_key)).toEqual(["ACME-2"]);
  });

  test("if its product is the vendor's no more", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: TERMS });
    await signNextTrust(folder, { products: ["ray"] });
    const reopened = await Desk.open(realDisk, folder, null);
    const { notAdopted } = await adoptLicenses(reopened, null, MONDAY);
    expect(notAdopted.map(({ problem }) => problem)).toEqual([
      "sim is no longer a product of this vendor",
    ]);
  });

  test("if it was returned, or if an order has it already", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const issued = await issueTestLicense(desk, await makeRequestFrom(site, "ray"), {
      terms: TERMS,
    });
    unwrap(await site.licensing.installLicense(issued.document, "test"));
    await returnLicense(desk, site, issued.license_id);
    expect(await adoptLicenses(desk, null, MONDAY)).toEqual({
      adoptions: [],
      notAdopted: [],
      customers: [],
    });
  });
});
