import { describe, expect, test } from "bun:test";
import { mergeCustomers, renameCustomer } from "../../../src/desk/orders/customers.ts";
import { describeOrder } from "../../../src/desk/orders/order-list.ts";
import { makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { addOrder, answer, codesOf, readLedgerText, refusalAt } from "../../support/orders.ts";
import { MONDAY } from "../../support/scenario.ts";

/** A desk with an order of Initech, cust-1, and one of Initrode, cust-2. */
async function openDeskWithCustomers() {
  const { desk, folder, site } = await openDeskAndSite();
  const first = await addOrder(desk);
  const second = await addOrder(desk, { customer: "Initrode" });
  return { desk, folder, site, first, second };
}

describe("a renamed customer", () => {
  test("keeps its id and orders, and the next answer to its site has the new name", async () => {
    const { desk, site, first } = await openDeskWithCustomers();
    const { license_key } = first;
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const renamed = await renameCustomer(desk, "initech", " Initech Ltd ", MONDAY);
    expect(renamed).toEqual({
      before: { id: "cust-1", name: "Initech" },
      after: { id: "cust-1", name: "Initech Ltd" },
    });
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    const names = desk.ledger.issuedEntries().map(({ terms }) => terms.customer);
    expect(names).toEqual(["Initech Ltd", "Initech"]);
    expect((await addOrder(desk, { customer: "INITECH LTD" })).customer).toBe("cust-1");
    expect((await addOrder(desk, { customer: "Initech" })).customer).toBe("cust-3");
  });

  test("may get another spelling of its own name, and the same name writes nothing", async () => {
    const { desk, folder } = await openDeskWithCustomers();
    await renameCustomer(desk, "cust-1", "INITECH", MONDAY);
    expect(desk.ledger.orders.findCustomer("cust-1")?.name).toBe("INITECH");
    const before = readLedgerText(folder);
    await renameCustomer(desk, "cust-1", "INITECH", MONDAY);
    expect(readLedgerText(folder)).toBe(before);
  });

  test.each([
    [
      "cust-9",
      "Initech Ltd",
      "there is no customer cust-9; berth vendor customer list shows the customers and their ids",
    ],
    [
      "Globex",
      "Initech Ltd",
      "there is no customer Globex; berth vendor customer list shows the customers and their ids",
    ],
    [
      "cust-1",
      "initrode",
      "initrode is the name of customer cust-2; berth vendor customer merge cust-1 --into cust-2 makes them one",
    ],
    ["cust-1", " ", "the customer's name is empty; name the customer, for example Initech"],
    [
      "cust-1",
      "x".repeat(257),
      `the customer's name "${"x".repeat(257)}" has more than 256 or invisible characters; choose a name that can be typed`,
    ],
  ])("is refused: %s to %j", async (customer, name, refusal) => {
    const { desk, folder } = await openDeskWithCustomers();
    const attempt = () => renameCustomer(desk, customer, name, MONDAY);
    expect(await refusalAt(folder, attempt)).toBe(refusal);
  });

  test.each(["cust-1", "cust-2", "cust-9"])(
    "is refused for a name like the id of a customer: %s",
    async (name) => {
      const { desk, folder } = await openDeskWithCustomers();
      expect(await refusalAt(folder, () => renameCustomer(desk, "cust-1", name, MONDAY))).toBe(
        `${name} would be taken for the id of a customer; choose another name; berth vendor customer merge cust-1 --into ID makes two customers one`,
      );
    },
  );
});

describe("a merged customer", () => {
  test("is the other one from then on: its orders, its id and its name", async () => {
    const { desk, site, second } = await openDeskWithCustomers();
    const merged = await mergeCustomers(desk, "initrode", "cust-1", MONDAY);
    expect(merged).toEqual({
      merged: { id: "cust-2", name: "Initrode" },
      into: { id: "cust-1", name: "Initech" },
    });
    expect(desk.ledger.orders.customers()).toEqual([{ id: "cust-1", name: "Initech" }]);
    expect(desk.ledger.orders.findCustomer("cust-2")).toEqual({ id: "cust-1", name: "Initech" });
    expect(describeOrder(desk, second, MONDAY).customer.id).toBe("cust-1");
    await answer(desk, await makeRequestFrom(site, "sim", second.license_key));
    expect(desk.ledger.issuedEntries()[0]?.terms.customer).toBe("Initech");
    expect((await addOrder(desk, { customer: "cust-2" })).customer).toBe("cust-1");
    // Its name is free, and no id is used again.
    expect((await addOrder(desk, { customer: "Initrode" })).customer).toBe("cust-3");
  });

  test("follows the other one when that is merged, too", async () => {
    const { desk } = await openDeskWithCustomers();
    await addOrder(desk, { customer: "Globex" });
    await mergeCustomers(desk, "cust-2", "cust-1", MONDAY);
    await mergeCustomers(desk, "cust-1", "cust-3", MONDAY);
    expect(desk.ledger.orders.findCustomer("cust-2")).toEqual({ id: "cust-3", name: "Globex" });
  });

  test.each([
    ["cust-1", "Initech", "both are customer cust-1, Initech; name two different customers"],
    [
      "cust-1",
      "cust-9",
      "there is no customer cust-9; berth vendor customer list shows the customers and their ids",
    ],
  ])("is refused: %s into %s", async (customer, into, refusal) => {
    const { desk, folder } = await openDeskWithCustomers();
    const attempt = () => mergeCustomers(desk, customer, into, MONDAY);
    expect(await refusalAt(folder, attempt)).toBe(refusal);
  });

  test("cannot be merged back", async () => {
    const { desk, folder } = await openDeskWithCustomers();
    await mergeCustomers(desk, "cust-2", "cust-1", MONDAY);
    expect(await refusalAt(folder, () => mergeCustomers(desk, "cust-1", "cust-2", MONDAY))).toBe(
      "both are customer cust-1, Initech; name two different customers",
    );
  });
});

test("a name with invisible differences is one customer's", async () => {
  const { desk, site } = await openDeskAndSite();
  const composed = await addOrder(desk, { customer: "Caf\u00e9" });
  const decomposed = await addOrder(desk, { customer: "Cafe\u0301 " });
  expect(decomposed.customer).toBe(composed.customer);
  expect(codesOf(await answer(desk, await makeRequestFrom(site)))).toEqual(["no_order"]);
});
