import { describe, expect, test } from "bun:test";
import { addOrders, changeOrders, closeOrder } from "../../../src/desk/orders/orders.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  codesOf,
  issueByHand,
  NEW_ORDER,
  openSiteOf,
  refusalAt,
} from "../../support/orders.ts";

describe("a key that the vendor chose", () => {
  test("needs a person for each new appliance, and none for the renewal of a holder", async () => {
    const { desk, site } = await openDeskAndSite();
    await addOrder(desk, { licenseKey: "ACME-1", appliances: 2 });
    const request = await makeRequestFrom(site, "sim", "ACME-1");
    expect(await answer(desk, request)).toEqual({
      outcome: "decide",
      obstacles: [
        {
          code: "vendor_key",
          text: "the license key is the vendor's own and can be guessed: compare who asks",
          hint: "berth vendor issue --request FILE decides it",
        },
      ],
    });
    await issueByHand(desk, request);
    const renewal = await answer(desk, await makeRequestFrom(site, "sim", "ACME-1"));
    expect(renewal).toMatchObject({ outcome: "answered", serial: 2 });
    const other = await openSiteOf(desk);
    const second = await answer(desk, await makeRequestFrom(other, "sim", "ACME-1"));
    expect(codesOf(second)).toEqual(["vendor_key"]);
  });
});

describe("a key of the desk's own making", () => {
  test.each([
    ["lower case without dashes", (key: string) => key.toLowerCase().replaceAll("-", "")],
    ["spaces", (key: string) => key.replaceAll("-", " ")],
    ["the letter O for each zero", (key: string) => key.replaceAll("0", "O")],
  ])(
    "is recognized in a request that spells it with %s, and signed in its one form",
    async (_, spell) => {
      const { desk, site } = await openDeskAndSite();
      const { license_key } = await addOrder(desk);
      const request = await makeRequestFrom(site, "sim", spell(license_key));
      expect(await answer(desk, request)).toMatchObject({ outcome: "answered", license_key });
    },
  );

  test("covers nothing with a mistyped symbol", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const other = license_key.endsWith("7") ? "8" : "7";
    const mistyped = `${license_key.slice(0, -1)}${other}`;
    const request = await makeRequestFrom(site, "sim", mistyped);
    expect((await answer(desk, request)).obstacles).toEqual([
      {
        code: "no_order",
        text: `the license key ${mistyped} has a wrong symbol`,
        hint: "compare it with the customer's, and ask the site for a request with the right one",
      },
    ]);
  });
});

describe("a request without a license key", () => {
  test("belongs to the one order of its product that the appliance holds", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const ray = await addOrder(desk, { terms: { product: "ray" } });
    expect(codesOf(await answer(desk, await makeRequestFrom(site)))).toEqual(["no_order"]);
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    await answer(desk, await makeRequestFrom(site, "ray", ray.license_key));
    expect(await answer(desk, await makeRequestFrom(site))).toMatchObject({
      outcome: "answered",
      serial: 2,
      license_key,
    });
    const withoutProduct = await answer(desk, await makeRequestFrom(site, null));
    expect(codesOf(withoutProduct)).toEqual(["several_orders"]);
  });

  test("needs a person where the appliance holds several orders of its product", async () => {
    const { desk, site } = await openDeskAndSite();
    const keys = (await addOrders(desk, [NEW_ORDER, NEW_ORDER], MONDAY)).map(
      ({ license_key }) => license_key,
    );
    for (const key of keys) await answer(desk, await makeRequestFrom(site, "sim", key));
    const request = await makeRequestFrom(site);
    expect((await answer(desk, request)).obstacles).toEqual([
      {
        code: "several_orders",
        text: `the request names no license key, and appliance ${site.services.identity.id} holds several orders: ${keys.join(", ")}`,
        hint: "choose one with --license-key KEY",
      },
    ]);
    const [, licenseKey = ""] = keys;
    const issued = await issueByHand(desk, request, { licenseKey });
    expect([issued.serial, issued.terms.license_key]).toEqual([2, licenseKey]);
  });
});

describe("a request that was answered", () => {
  test("gets the recorded license again, also after the order was changed, with what changed", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const request = await makeRequestFrom(site, "sim", license_key);
    const { document } = await answer(desk, request);
    const again = await answer(desk, request, hoursLater(1));
    expect(again).toMatchObject({ outcome: "repeated", document, notes: [] });
    const changes = { terms: { slots: 9 } };
    await changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
    const before = desk.ledger.issuedEntries().length;
    const changed = await answer(desk, request, hoursLater(1));
    expect(changed).toMatchObject({ outcome: "repeated", document });
    expect(changed.notes).toEqual([
      expect.stringMatching(
        /^terms changed since \(.*3 → 9.*\): the site can make a new request$/,
      ) as string,
    ]);
    expect(desk.ledger.issuedEntries()).toHaveLength(before);
    expect(
      await refusalAt(folder, () =>
        issueByHand(desk, request, { isNew: true, terms: { slots: 9 } }),
      ),
    ).toContain("already answered with other terms");
  });

  test("gets the recorded license again after its order ended or was closed", async () => {
    const { desk, site } = await openDeskAndSite();
    const end = "2026-03-02T10:00:00.000Z";
    const { license_key } = await addOrder(desk, { terms: { valid_until: end } });
    const request = await makeRequestFrom(site, "sim", license_key);
    const { document } = await answer(desk, request);
    const ended = await answer(desk, request, hoursLater(2));
    expect(ended).toMatchObject({ outcome: "repeated", document });
    await closeOrder(desk, license_key, "entered twice", MONDAY);
    expect(await answer(desk, request)).toMatchObject({ outcome: "repeated", document });
  });
});

test("a request for another product than the order's needs a person", async () => {
  const { desk, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const request = await makeRequestFrom(site, "ray", license_key);
  expect((await answer(desk, request)).obstacles).toEqual([
    {
      code: "other_product",
      text: `the order ${license_key} is for sim, not for ray`,
      hint: "ask the site for a request for sim",
    },
  ]);
});

test("a request that names no product gets the order's", async () => {
  const { desk, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const answered = await answer(desk, await makeRequestFrom(site, null, license_key));
  expect(answered.outcome).toBe("answered");
  expect(desk.ledger.issuedEntries()[0]?.terms.product).toBe("sim");
});

test("an appliance whose hardware can hardly be identified is answered only if the order allows it", async () => {
  const components = [{ kind: "machine_id", value: "only one" }] as const;
  const { desk, site } = await openDeskAndSite({ components });
  const [{ license_key: strict }, { license_key: weak }] = [
    await addOrder(desk),
    await addOrder(desk, { allow_weak_binding: true }),
  ];
  const refused = await answer(desk, await makeRequestFrom(site, "sim", strict));
  expect(refused.obstacles).toEqual([
    {
      code: "weak_binding",
      text: "the appliance has a weak hardware binding: fewer than two components can be identified",
      hint: "berth vendor issue --request FILE --allow-weak-binding accepts it",
    },
  ]);
  const answered = await answer(desk, await makeRequestFrom(site, "sim", weak));
  expect(answered.outcome).toBe("answered");
});

describe("a person who issues a license under the key of an order", () => {
  test("cannot give it other terms than those of the order", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const request = await makeRequestFrom(site, "sim", license_key);
    for (const terms of [
      { slots: 4 },
      { valid_until: null },
      { features: [{ code: "MESH" }] },
      { without: ["MESH"] },
      { consumption: null },
      { consumption: { max: 3, overages: 1 } },
    ]) {
      expect(await refusalAt(folder, () => issueByHand(desk, request, { terms }))).toBe(
        `the terms of the order ${license_key} are those of the order; change them with berth vendor order change ${license_key}, and issue without terms`,
      );
    }
    expect((await issueByHand(desk, request)).terms.slots).toBe(3);
  });

  test("cannot exceed it with an additional license, for the same appliance or for another one", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const { license_id } = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const again = await makeRequestFrom(site, "sim", license_key);
    expect(await refusalAt(folder, () => issueByHand(desk, again, { isNew: true }))).toBe(
      `this appliance already holds the order ${license_key}: license ${license_id}; omit --new; an additional license needs an order of its own: berth vendor order add`,
    );
    const other = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    expect(await refusalAt(folder, () => issueByHand(desk, other, { isNew: true }))).toContain(
      `the order ${license_key} is for one appliance, and its place is taken`,
    );
    const chosen = { licenseId: license_id ?? 0 };
    expect(await refusalAt(folder, () => issueByHand(desk, other, chosen))).toContain(
      "its place is taken",
    );
    await changeOrders(desk, [{ licenseKey: license_key, changes: { appliances: 2 } }], MONDAY);
    expect(await refusalAt(folder, () => issueByHand(desk, other, chosen))).toBe(
      `license ${license_id} is not one with which this appliance holds the order ${license_key}; berth vendor order show ${license_key} shows who holds it`,
    );
    expect((await issueByHand(desk, other, { isNew: true })).serial).toBe(1);
  });

  test("cannot renew a license of one order with the key of another one", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const [first, second] = [await addOrder(desk), await addOrder(desk)];
    const { license_id } = await answer(
      desk,
      await makeRequestFrom(site, "sim", first.license_key),
    );
    const options = { renewLicenseId: license_id ?? 0, licenseKey: second.license_key };
    expect(await refusalAt(folder, () => issueByHand(desk, null, options))).toBe(
      `license ${license_id} belongs to the order ${first.license_key}, not to ${second.license_key}; omit one of them`,
    );
  });

  test("can renew it from the ledger with the terms that the order sells now", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const { license_id } = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const changes = { terms: { slots: 7 } };
    await changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
    const renewed = await issueByHand(desk, null, { renewLicenseId: license_id ?? 0 });
    expect(renewed).toMatchObject({ serial: 2, use: "renewal", terms: { slots: 7, license_key } });
  });
});

test("a license without an order is issued and renewed as if there were no orders", async () => {
  const { desk, site } = await openDeskAndSite();
  await addOrder(desk);
  const issued = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "OLD-1"));
  expect(issued).not.toHaveProperty("use");
  const request = await makeRequestFrom(site, "sim", "OLD-1");
  expect(codesOf(await answer(desk, request))).toEqual(["no_order"]);
  expect((await issueTestLicense(desk, request, { terms: { slots: 8 } })).serial).toBe(2);
});
