// What a customer, or a careless operator, could gain more by than the order sells.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { receiveReceipt } from "../../../src/desk/issuing/receive-receipt.ts";
import { prepareAdoptions } from "../../../src/desk/orders/adopt.ts";
import { changeOrders } from "../../../src/desk/orders/orders.ts";
import { usedBefore, withoutUsed } from "../../../src/desk/orders/remaining-consumption.ts";
import { signReceipt } from "../../../src/license/documents/receipt.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answerAndInstall,
  issueByHand,
  openSiteOf,
  refusalAt,
} from "../../support/orders.ts";
import { runBerth } from "../../support/run-berth.ts";
import { MONDAY } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

test("a key that two customers share is not adopted: one would get the terms of the other", async () => {
  const { desk, site } = await openDeskAndSite();
  const other = await openSiteOf(desk);
  const issue = async (at: typeof site, customer: string, slots: number) =>
    issueTestLicense(desk, await makeRequestFrom(at, "sim", "PO-7"), {
      isNew: true,
      terms: { customer, slots },
    });
  await issue(site, "Alpha", 10);
  await issue(other, "Beta", 100);
  const { adoptions, notAdopted } = prepareAdoptions(desk, null, MONDAY);
  expect(adoptions).toEqual([]);
  expect(notAdopted[0]?.problem).toStartWith("one key with different terms: ");
  expect(notAdopted[0]?.licenses).toHaveLength(2);
});

test("a receipt for a serial that the desk did not issue needs a person", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const answered = await answerAndInstall(
    desk,
    site,
    await makeRequestFrom(site, "sim", license_key),
  );
  const { key, id: appliance } = site.services.identity;
  const license_id = answered.license_id ?? 0;
  const receipt = await signReceipt(
    {
      appliance,
      jwk: publicPart(key),
      license_id,
      serial: 60_000,
      vendor: desk.vendor.vendor,
      product: "sim",
      removed_at: new Date(MONDAY).toISOString(),
      total_consumptions: 0,
      borrows: [],
    },
    key,
  );
  expect(await refusalAt(folder, () => receiveReceipt(desk, receipt, MONDAY))).toStartWith(
    `the receipt is for serial 60000 of license ${license_id}, which the ledger lacks; `,
  );
});

test("an appliance cannot write itself off to get a second license", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  await issueTestLicense(desk, await makeRequestFrom(site));
  const request = await makeRequestFrom(site);
  const writeOff = { appliance: request.appliance, reason: "lost" };
  const attempt = () => issueByHand(desk, request, { writeOff, terms: { valid_until: null } });
  expect(await refusalAt(folder, attempt)).toContain(
    `the request is of appliance ${request.appliance} itself`,
  );
});

test("an order cannot be changed to an end that has passed", async () => {
  const { desk, folder } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const changes = { terms: { valid_until: "2017-01-01T00:00:00.000Z" } };
  const attempt = () => changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
  expect(await refusalAt(folder, attempt)).toContain("the order would already have ended on 2017");
});

test("consumption above the maximum is taken off the overages of the next license, too", async () => {
  const { desk, site } = await openDeskAndSite();
  const consumption = { max: 100, overages: 20, negative: false, period: null };
  const order = await addOrder(desk, { terms: { consumption } });
  const newest = await issueByHand(desk, await makeRequestFrom(site, "sim", order.license_key));
  const end = { cause: "returned", freeAt: MONDAY } as const;
  const state = { licenses: [{ newest, lastTotal: 110, end }], takes: 1, moves: [] };
  const used = usedBefore(order, state, null);
  expect(withoutUsed(order.terms, used).consumption).toMatchObject({ max: 0, overages: 10 });
});

test("orders in another encoding than UTF-8 are not imported with wrong letters", async () => {
  const { folder } = await openDeskAndSite();
  const file = join(tempFolder(), "orders.csv");
  const text = "customer,product,valid_until\nM\u00fcller,sim,never\n";
  writeFileSync(file, Buffer.from(text, "latin1"));
  const { code, stderr } = await runBerth(["vendor", "order", "import", file, "--dir", folder]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("is not UTF-8 text")]);
});
