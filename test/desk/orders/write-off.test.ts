import { describe, expect, test } from "bun:test";
import { answerAt, answerDocuments } from "../../../src/desk/answering/answer-documents.ts";
import { renewFromLedger } from "../../../src/desk/answering/renew-from-ledger.ts";
import type { Desk } from "../../../src/desk/desk.ts";
import { listLicenses } from "../../../src/desk/ledger/license-list.ts";
import { readOrderState } from "../../../src/desk/orders/order-state.ts";
import { describeWriteOffs } from "../../../src/desk/orders/write-off.ts";
import type { Appliance } from "../../support/appliance.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { unwrap } from "../../support/licensed-store.ts";
import {
  addOrder,
  answer,
  answerAndInstall,
  codesOf,
  issueByHand,
  openSiteOf,
  refusalAt,
} from "../../support/orders.ts";
import { goTo, makeStatement } from "../../support/reporting-site.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";

const REASON = "the disk died";

const idOf = (site: Appliance): string => site.services.identity.id;

const statesOf = (desk: Desk): [appliance: string, state: string][] =>
  listLicenses(desk.ledger, MONDAY).map(({ appliance, state }) => [appliance, state]);

/** A site whose machine was lost, and another one that has its place by the word of a person. */
async function writeOffOne() {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const held = await answerAndInstall(desk, site, await makeRequestFrom(site, "sim", license_key));
  const next = await openSiteOf(desk);
  const request = await makeRequestFrom(next, "sim", license_key);
  const writeOff = { appliance: idOf(site), reason: REASON };
  const issued = await issueByHand(desk, request, { writeOff });
  return { desk, folder, site, next, license_key, held: held.license_id ?? 0, request, issued };
}

const alive = (license: number): string =>
  `license ${license} of this appliance was written off on 2026-03-02, but the appliance is alive`;

describe("a license of a lost machine", () => {
  test("is written off together with the license of the appliance that follows, which is a move", async () => {
    const { desk, site, next, license_key, held, request, issued } = await writeOffOne();
    expect(desk.ledger.orders.writeOffs()).toMatchObject([
      {
        type: "written-off",
        appliance: idOf(site),
        license_id: held,
        serial: 1,
        license_key,
        request_id: request.request_id,
        reason: REASON,
      },
    ]);
    expect(issued).toMatchObject({ appliance: idOf(next), serial: 1, use: "move" });
    expect(issued.license_id).not.toBe(held);
    expect(statesOf(desk)).toEqual([
      [idOf(next), "active"],
      [idOf(site), "written off"],
    ]);
    const order = desk.ledger.orders.findOrder(license_key);
    const causes =
      order && readOrderState(desk.ledger, order).licenses.map(({ end }) => end?.cause);
    expect(causes).toEqual(["written off", undefined]);
  });

  test("is never written off without a person", async () => {
    const { desk, next, license_key } = await writeOffOne();
    const third = await openSiteOf(desk);
    const refused = await answer(desk, await makeRequestFrom(third, "sim", license_key));
    expect(codesOf(refused)).toEqual(["order_full"]);
    expect(refused.obstacles?.[0]?.text).toContain(idOf(next));
  });

  test("is renewed by no batch and by no person without a request of its machine", async () => {
    const { desk, folder, held } = await writeOffOne();
    const text = `license ${held} was written off on 2026-03-02`;
    const hint = "if its machine is found again, answer a new request of it";
    expect((await renewFromLedger(desk, held, MONDAY)).obstacles).toEqual([
      { code: "refused", text, hint },
    ]);
    const attempt = () => issueByHand(desk, null, { renewLicenseId: held });
    expect(await refusalAt(folder, attempt)).toBe(`${text}; ${hint}`);
  });

  test("is named to a person whenever a license of its customer is answered again", async () => {
    const { desk, next, held, license_key } = await writeOffOne();
    const text = `this customer's license ${held} was written off on 2026-03-02 (appliance ${desk.ledger.orders.writeOffs()[0]?.appliance}): ${REASON}`;
    expect(describeWriteOffs(desk.ledger, "cust-1")).toEqual([text]);
    const renewal = await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect(renewal).toMatchObject({ outcome: "answered", notes: [text] });
    const other = await addOrder(desk, { customer: "Initrode" });
    const site = await openSiteOf(desk);
    const foreign = await answer(desk, await makeRequestFrom(site, "sim", other.license_key));
    expect(foreign.notes).toEqual([]);
  });
});

describe("an appliance whose license was written off", () => {
  test("gets no answer to any request without a person, for another order either", async () => {
    const { desk, site, license_key, held } = await writeOffOne();
    const request = await makeRequestFrom(site, "sim", license_key);
    const full = await answer(desk, request);
    expect(codesOf(full)).toEqual(["written_off"]);
    expect(full.obstacles?.[0]?.text).toStartWith(
      `${alive(held)}; the order ${license_key} is for`,
    );
    const other = await addOrder(desk);
    const elsewhere = await answer(desk, await makeRequestFrom(site, "sim", other.license_key));
    expect(elsewhere.obstacles).toEqual([
      {
        code: "written_off",
        text: alive(held),
        hint: "berth vendor issue --request FILE decides it",
      },
    ]);
  });

  test("gets a license of another order from a person, and the finding stays", async () => {
    const { desk, site } = await writeOffOne();
    const { license_key } = await addOrder(desk);
    const request = await makeRequestFrom(site, "sim", license_key);
    expect((await issueByHand(desk, request)).use).toBe("take");
    // The finding stays: what was written off may still be in use.
    const next = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    expect(codesOf(next)).toEqual(["written_off"]);
  });

  test("has its receipt recorded with the finding, and its statement waits for a person", async () => {
    const { desk, site, held } = await writeOffOne();
    goTo(site, 3);
    const statement = await makeStatement(site, desk.vendor.vendor);
    const receipt = unwrap(await site.licensing.removeLicense(held, false, "test"));
    const incoming = [
      { name: "a-receipt.jwt", text: receipt },
      { name: "b-statement.jwt", text: statement.document },
    ];
    const answers = await answerDocuments(answerAt(desk, desk, hoursLater(90)), incoming);
    expect(answers).toMatchObject([
      { name: "a-receipt.jwt", kind: "receipt", outcome: "recorded", notes: [alive(held)] },
      {
        name: "b-statement.jwt",
        kind: "usage",
        outcome: "decide",
        document: null,
        obstacles: [
          {
            code: "written_off",
            text: alive(held),
            hint: "berth vendor receive FILE accepts it",
          },
        ],
      },
    ]);
  });
});

describe("a write-off is refused", () => {
  test("of an appliance that does not hold the order", async () => {
    const { desk, folder, site, next, license_key } = await writeOffOne();
    const third = await openSiteOf(desk);
    const request = await makeRequestFrom(third, "sim", license_key);
    const attempt = () =>
      issueByHand(desk, request, { writeOff: { appliance: idOf(site), reason: REASON } });
    expect(await refusalAt(folder, attempt)).toBe(
      `appliance ${idOf(site)} does not hold the order ${license_key}; berth vendor order show ${license_key} shows who does`,
    );
    const own = await makeRequestFrom(next, "sim", license_key);
    const holder = { writeOff: { appliance: idOf(next), reason: REASON } };
    expect(await refusalAt(folder, () => issueByHand(desk, own, holder))).toBe(
      `appliance ${idOf(next)} already holds the order ${license_key}; omit --write-off to renew its license`,
    );
  });

  test("of an appliance without such a license, where no order concerns it", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const other = await openSiteOf(desk);
    const writeOff = { appliance: idOf(other), reason: REASON };
    const request = await makeRequestFrom(site);
    expect(await refusalAt(folder, () => issueTestLicense(desk, request, { writeOff }))).toBe(
      `appliance ${idOf(other)} has no such license that could be written off; berth vendor list --appliance ${idOf(other)} shows its licenses`,
    );
    const ids = [];
    for (const key of ["OLD-1", "OLD-2"]) {
      const oldRequest = await makeRequestFrom(other, "sim", key);
      ids.push((await issueTestLicense(desk, oldRequest, { isNew: true })).license_id);
    }
    expect(await refusalAt(folder, () => issueTestLicense(desk, request, { writeOff }))).toBe(
      `appliance ${idOf(other)} has several such licenses: ${ids.join(", ")}; choose one with --license-id ID`,
    );
  });
});

test("a license without an order is written off for a new one with its terms", async () => {
  const { desk, site } = await openDeskAndSite();
  const lost = await openSiteOf(desk);
  const terms = { slots: 8, customer: "Initech" };
  const held = await issueTestLicense(desk, await makeRequestFrom(lost), { terms });
  const issued = await issueTestLicense(desk, await makeRequestFrom(site), {
    writeOff: { appliance: idOf(lost), reason: REASON },
  });
  expect(issued).toMatchObject({ serial: 1, terms });
  expect(issued).not.toHaveProperty("use");
  expect(issued.license_id).not.toBe(held.license_id);
  expect(statesOf(desk)).toEqual([
    [idOf(site), "active"],
    [idOf(lost), "written off"],
  ]);
  const later = await answer(desk, await makeRequestFrom(lost));
  expect(codesOf(later)).toEqual(["written_off", "no_order"]);
});
