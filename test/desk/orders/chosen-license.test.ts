import { expect, test } from "bun:test";
import type { Desk } from "../../../src/desk/desk.ts";
import { issueLicense } from "../../../src/desk/issuing/issue.ts";
import { USUAL_OPTIONS } from "../../../src/desk/issuing/issue-options.ts";
import { addOrders, USUAL_SIZE } from "../../../src/desk/orders/orders.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { refusal } from "../../support/desk-refusal.ts";
import { MONDAY } from "../../support/scenario.ts";

const KEY = "PO-7";
const NOT_HELD = "is not one with which this appliance holds the order";

async function openDeskWithOrder() {
  const { desk, site } = await openDeskAndSite();
  const weak = { allowWeakBinding: true };
  const { license_id } = await issueTestLicense(desk, await makeRequestFrom(site), weak);
  const terms = { product: "sim", slots: 10, valid_until: null };
  const wanted = { ...USUAL_SIZE, customer: "Initech", licenseKey: KEY, terms };
  await addOrders(desk, [wanted], MONDAY);
  return { desk, site, weak, license_id };
}

const countUnderKey = (desk: Desk): number => desk.ledger.issuedUnder(KEY).length;

test("the key of an order cannot be put into a license that was issued without an order", async () => {
  const { desk, site, weak, license_id } = await openDeskWithOrder();
  const request = await makeRequestFrom(site, "sim", KEY);
  const options = { ...USUAL_OPTIONS, ...weak, request, licenseId: license_id, now: MONDAY };

  expect(await refusal(issueLicense(desk, options))).toContain(NOT_HELD);
  expect(countUnderKey(desk)).toBe(0);
});

test("nor can it by a renewal without a request", async () => {
  const { desk, license_id } = await openDeskWithOrder();
  const renewal = { renewLicenseId: license_id, licenseKey: KEY };

  expect(await refusal(issueTestLicense(desk, null, renewal))).toContain(NOT_HELD);
  expect(countUnderKey(desk)).toBe(0);
});

test("a license without an order is renewed under another key as before", async () => {
  const { desk, license_id } = await openDeskWithOrder();
  const renewal = { renewLicenseId: license_id, licenseKey: "PO-8" };
  const { serial, terms } = await issueTestLicense(desk, null, renewal);

  expect([serial, terms.license_key]).toEqual([2, "PO-8"]);
});
