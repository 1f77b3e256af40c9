import { describe, expect, test } from "bun:test";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { createPolicy } from "../../../src/desk/issuing/airgap.ts";
import {
  addOrders,
  changeOrders,
  closeOrder,
  prepareOrders,
  type NewOrder,
  type OrderChanges,
} from "../../../src/desk/orders/orders.ts";
import { isOrderKey } from "../../../src/license/codes/order-key.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  NEW_ORDER,
  openSiteOf,
  readLedgerText,
  refusalAt,
} from "../../support/orders.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";

const changeOrder = async (desk: Desk, key: string, changes: OrderChanges) =>
  (await changeOrders(desk, [{ licenseKey: key, changes }], MONDAY))[0];

describe("a new order", () => {
  test("has a key of the desk's own making, its size and complete terms, and makes its customer", async () => {
    const { desk, folder } = await openDeskAndSite();
    const order = await addOrder(desk, { appliances: 2, moves: 0 });
    expect(order).toMatchObject({
      type: "order",
      at: "2026-03-02T09:00:00.000Z",
      is_own_key: true,
      customer: "cust-1",
      appliances: 2,
      hosts: 1,
      moves: 0,
      allow_weak_binding: false,
      terms: { product: "sim", slots: 3, valid_until: null, license_key: null, customer: null },
    });
    expect(isOrderKey(order.license_key)).toBe(true);
    expect(order).not.toHaveProperty("policy_id");
    const reopened = await Desk.open(realDisk, folder, null);
    expect(reopened.ledger.orders.orders()).toEqual([order]);
    expect(reopened.ledger.orders.customers()).toEqual([{ id: "cust-1", name: "Initech" }]);
  });

  test("is for a customer that the desk knows, by id or by name in any case", async () => {
    const { desk } = await openDeskAndSite();
    await addOrder(desk);
    const names = ["Initech", "cust-1", " INITECH ", "Initrode", "initrode"];
    const orders = await addOrders(
      desk,
      names.map((customer) => ({ ...NEW_ORDER, customer })),
      MONDAY,
    );
    expect(orders.map(({ customer }) => customer)).toEqual([
      "cust-1",
      "cust-1",
      "cust-1",
      "cust-2",
      "cust-2",
    ]);
    expect(desk.ledger.orders.customers()).toEqual([
      { id: "cust-1", name: "Initech" },
      { id: "cust-2", name: "Initrode" },
    ]);
  });

  test("with a key of the vendor's own is not one of the desk's making, even if it looks like one", async () => {
    const { desk } = await openDeskAndSite();
    const licenseKey = "qo41b b2je3 y9wcw 088gg";
    const order = await addOrder(desk, { licenseKey });
    expect(order).toMatchObject({ license_key: "Q041B-B2JE3-Y9WCW-088GG", is_own_key: false });
    expect(desk.ledger.orders.findOrder(licenseKey)).toEqual(order);
  });
});

describe("an order is refused", () => {
  test.each<readonly [why: string, order: Partial<NewOrder>, refusal: string]>([
    [
      "without a customer's name",
      { customer: "  " },
      "the customer's name is empty; name the customer, for example Initech",
    ],
    [
      "for a customer's name that cannot be typed",
      { customer: "In\u200bitech" },
      'the customer\'s name "In\u200bitech" has more than 256 or invisible characters; choose a name that can be typed',
    ],
    [
      "for the id of no customer",
      { customer: "cust-9" },
      "there is no customer cust-9; berth vendor customer list shows the customers and their ids",
    ],
    [
      "with a key that another order has",
      { licenseKey: "ACME-1" },
      "the license key ACME-1 is used by another order; choose another key, or none",
    ],
    [
      "with a key that licenses without an order have",
      { licenseKey: "OLD-1" },
      "the license key OLD-1 is in licenses that were issued without an order; berth vendor order adopt makes an order for them",
    ],
    [
      "with an empty key",
      { licenseKey: "" },
      "a license key must have 1 to 256 characters; omit it: the desk makes one that can be read out and typed",
    ],
    [
      "with a key of more than 256 characters",
      { licenseKey: "K".repeat(257) },
      "a license key must have 1 to 256 characters; omit it: the desk makes one that can be read out and typed",
    ],
    [
      "if it would have ended already",
      { terms: { valid_until: "2026-03-02T09:00:00.000Z" } },
      "the order would already have ended on 2026-03-02T09:00:00.000Z; choose a later end",
    ],
    [
      "for a product of another vendor",
      { terms: { product: "cad" } },
      "cad is not a product of this vendor; its products: sim, ray",
    ],
    [
      "for no appliance",
      { appliances: 0 },
      "appliances must be a whole number from 1 to 100000; it is 0",
    ],
    [
      "for a part of a move",
      { moves: 0.5 },
      "moves must be a whole number from 0 to 1000; it is 0.5",
    ],
    [
      "with a policy that the desk did not sign",
      { policy_id: "gold" },
      "this desk signed no policy gold; sign it first: berth vendor policy --policy-id ID",
    ],
    [
      "with a policy of another product",
      { policy_id: "ray-1" },
      "policy ray-1 differs from the order: product sim → ray; product name sim → ray; a code has the terms of its policy; sell those, or sign another policy",
    ],
    [
      "with a policy for two hosts",
      { policy_id: "sim-1", hosts: 2 },
      "an order of two hosts cannot be served by code; omit the policy, or sell one host",
    ],
  ])("%s", async (_, differing, refusal) => {
    const { desk, folder, site } = await openDeskAndSite();
    await addOrder(desk, { licenseKey: "ACME-1" });
    await issueTestLicense(desk, await makeRequestFrom(site, "sim", "OLD-1"));
    const noEnd = { slots: 3, valid_until: null };
    await createPolicy(desk, "ray-1", { product: "ray", ...noEnd }, MONDAY);
    await createPolicy(desk, "sim-1", { product: "sim", ...noEnd }, MONDAY);
    expect(await refusalAt(folder, () => addOrder(desk, differing))).toBe(refusal);
  });

  test("if its terms do not say when it ends", async () => {
    const { desk, folder } = await openDeskAndSite();
    const wanted = { ...NEW_ORDER, terms: { product: "sim" } };
    expect(await refusalAt(folder, () => addOrders(desk, [wanted], MONDAY))).toBe(
      "the terms do not say when the license ends; use --valid-until DAY, or --valid-until never for a license without an end",
    );
  });

  test("together with all others of its import, and every fault is found", async () => {
    const { desk, folder } = await openDeskAndSite();
    const twice = { ...NEW_ORDER, licenseKey: "ACME-1" };
    const wanted = [NEW_ORDER, twice, { ...NEW_ORDER, moves: -1 }, twice];
    expect(await refusalAt(folder, () => addOrders(desk, wanted, MONDAY))).toContain("moves must");
    const faults: string[] = [];
    const onFault = (index: number, { message }: Error) => faults.push(`${index}: ${message}`);
    expect(prepareOrders(desk, wanted, MONDAY, onFault).orders).toHaveLength(2);
    expect(faults).toEqual([
      "2: moves must be a whole number from 0 to 1000",
      "3: the license key ACME-1 is used by another order of the same import",
    ]);
  });
});

describe("a changed order", () => {
  test("says each difference, keeps all else, and the next answer to its site has the new terms", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key, terms } = await addOrder(desk);
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const size = { appliances: 2, moves: 3, allow_weak_binding: true };
    const changes = { ...size, customer: "Initrode", terms: { slots: 5, borrow_hours: 24 } };
    const changed = await changeOrder(desk, license_key, changes);
    expect(changed?.differences).toEqual([
      "customer Initech → Initrode",
      "appliances 1 → 2",
      "moves 1 → 3",
      "allow weak binding false → true",
      expect.stringContaining("slots 3 → 5") as string,
      expect.stringContaining("borrow") as string,
    ]);
    const order = desk.ledger.orders.findOrder(license_key);
    expect(order).toMatchObject({ ...size, customer: "cust-2", is_own_key: true });
    expect(order?.terms).toEqual({ ...terms, slots: 5, borrow_hours: 24 });
    const next = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    expect(next).toMatchObject({ outcome: "answered", serial: 2 });
    const { id } = site.services.identity;
    expect(desk.ledger.issuedTo(id).at(-1)?.terms).toMatchObject({
      slots: 5,
      borrow_hours: 24,
      customer: "Initrode",
      license_key,
    });
  });

  test("that stays as it is gets no line", async () => {
    const { desk, folder } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const before = readLedgerText(folder);
    const same = { moves: 1, customer: "initech", terms: { slots: 3 } };
    expect((await changeOrder(desk, license_key, same))?.differences).toEqual([]);
    expect(readLedgerText(folder)).toBe(before);
  });

  test("loses its policy if none is set", async () => {
    const { desk } = await openDeskAndSite();
    await createPolicy(desk, "sim-1", { product: "sim", slots: 3, valid_until: null }, MONDAY);
    const { license_key } = await addOrder(desk, { policy_id: "sim-1" });
    const changed = await changeOrder(desk, license_key, { policy_id: null });
    expect(changed?.differences).toEqual(["policy id sim-1 → none"]);
    expect(desk.ledger.orders.findOrder(license_key)).not.toHaveProperty("policy_id");
  });

  test.each<readonly [why: string, changes: OrderChanges, refusal: string]>([
    [
      "to another product",
      { terms: { product: "ray" } },
      "the order KEY is for sim; sell another product with another order: berth vendor order add",
    ],
    [
      "to fewer appliances than hold it",
      { appliances: 1 },
      "2 appliances hold the order KEY: FIRST, SECOND; ask sites to return their licenses first",
    ],
    [
      "to too many moves",
      { moves: 1_001 },
      "moves must be a whole number from 0 to 1000; it is 1001",
    ],
    [
      "to a policy that the desk did not sign",
      { policy_id: "gold" },
      "this desk signed no policy gold; sign it first: berth vendor policy --policy-id ID",
    ],
  ])("cannot be changed %s", async (_, changes, expected) => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk, { appliances: 2 });
    const second = await openSiteOf(desk);
    for (const holder of [site, second])
      await answer(desk, await makeRequestFrom(holder, "sim", license_key));
    const refused = await refusalAt(folder, () => changeOrder(desk, license_key, changes));
    expect(refused).toBe(
      expected
        .replaceAll("KEY", license_key)
        .replace("FIRST", site.services.identity.id)
        .replace("SECOND", second.services.identity.id),
    );
  });

  test("is changed with all others of the same command, or none is", async () => {
    const { desk, folder } = await openDeskAndSite();
    const [first, second] = [await addOrder(desk), await addOrder(desk)];
    const change = (slots: number) =>
      changeOrders(
        desk,
        [
          { licenseKey: first.license_key, changes: { terms: { slots: 9 } } },
          { licenseKey: second.license_key, changes: { terms: { slots } } },
        ],
        MONDAY,
      );
    expect(await refusalAt(folder, () => change(-1))).toContain("slots must be");
    await change(9);
    expect(desk.ledger.orders.orders().map(({ terms }) => terms.slots)).toEqual([9, 9]);
  });
});

describe("a closed order", () => {
  test("answers no request, cannot be changed or closed again, and gives its key to no other", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    const held = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    await closeOrder(desk, license_key, "entered twice", MONDAY);
    const closed = `the order ${license_key} was closed on 2026-03-02: entered twice`;
    const hint = "berth vendor order add adds another order";
    expect(await answer(desk, await makeRequestFrom(site, "sim", license_key))).toEqual({
      outcome: "refused",
      obstacles: [{ code: "refused", text: closed, hint }],
    });
    const renewal = { renewLicenseId: held.license_id ?? 0 };
    for (const attempt of [
      () => changeOrder(desk, license_key, { moves: 2 }),
      () => closeOrder(desk, license_key, "again", MONDAY),
      () => issueTestLicense(desk, null, renewal),
    ])
      expect(await refusalAt(folder, attempt)).toBe(`${closed}; ${hint}`);
    expect(await refusalAt(folder, () => addOrder(desk, { licenseKey: license_key }))).toContain(
      "is used by another order",
    );
  });

  test("is refused if there is none", async () => {
    const { desk, folder } = await openDeskAndSite();
    expect(await refusalAt(folder, () => closeOrder(desk, "ACME-1", "x", MONDAY))).toBe(
      "there is no order ACME-1; berth vendor order list shows the orders",
    );
  });
});

test("an order that has ended waits for a person, and is answered again after its end was moved", async () => {
  const { desk, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk, {
    terms: { valid_until: "2026-03-02T10:00:00.000Z" },
  });
  const request = await makeRequestFrom(site, "sim", license_key);
  const end = hoursLater(1);
  expect(await answer(desk, request, end)).toEqual({
    outcome: "decide",
    obstacles: [
      {
        code: "order_ended",
        text: `the order ${license_key} ended on 2026-03-02T10:00:00.000Z`,
        hint: `berth vendor order renew ${license_key} --valid-until DAY`,
      },
    ],
  });
  await changeOrder(desk, license_key, { terms: { valid_until: "2027-01-01T00:00:00.000Z" } });
  expect(await answer(desk, request, end)).toMatchObject({ outcome: "answered", serial: 1 });
});
