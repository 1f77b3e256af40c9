import { describe, expect, test } from "bun:test";
import type { Desk } from "../../../src/desk/desk.ts";
import type { IssuedEntry } from "../../../src/desk/ledger/ledger-entries.ts";
import { describeOrder } from "../../../src/desk/orders/order-list.ts";
import { listHardware } from "../../../src/desk/orders/order-placement.ts";
import { changeOrders } from "../../../src/desk/orders/orders.ts";
import { isOtherHardware } from "../../../src/desk/orders/other-hardware.ts";
import { DAY, HOUR, later } from "../../../src/domain/time.ts";
import type { HardwareComponent } from "../../../src/license/documents/hardware.ts";
import {
  verifyLicenseRequest,
  type LicenseRequest,
} from "../../../src/license/requests/request.ts";
import { expectOk, type Appliance } from "../../support/appliance.ts";
import { makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { refusal } from "../../support/desk-refusal.ts";
import { openPairOfTwo, takeOver, type OpenHost } from "../../support/licensed-pair.ts";
import { unwrap } from "../../support/licensed-store.ts";
import {
  addOrder,
  answer,
  answerAndInstall,
  codesOf,
  issueByHand,
  machineOf,
  openSiteOf,
  returnLicense,
} from "../../support/orders.ts";
import { MONDAY } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const lastUse = ({ ledger }: Desk): IssuedEntry["use"] => ledger.issuedEntries()[0]?.use;

const movesOf = (desk: Desk, key: string, now = MONDAY): number => {
  const order = desk.ledger.orders.findOrder(key);
  return order === null ? expect.unreachable("no order") : describeOrder(desk, order, now).moves;
};

const MOVED_TWICE =
  "the license goes to other hardware; the order allows 1 move in 365 days, and 1 was granted since 2025-03-02";

/** A site whose license under the key of an order is bound to a machine of five components. */
async function openMachine() {
  const { desk, folder, site } = await openDeskAndSite({ components: machineOf("a") });
  const { license_key } = await addOrder(desk);
  const request = await makeRequestFrom(site, "sim", license_key);
  await answerAndInstall(desk, site, request);
  return { desk, folder, site, license_key };
}

/** The same data folder on a machine with these components. */
const openCopy = (desk: Desk, site: Appliance, components: readonly HardwareComponent[]) =>
  openSiteOf(desk, { folder: copyFolder(site.folder), components });

/** So many components of a machine, and the others of another one. */
const mixed = (count: number): HardwareComponent[] => [
  ...machineOf("a").slice(0, count),
  ...machineOf("b").slice(count),
];

describe("a request of the appliance that holds an order", () => {
  test.each([4, 3])(
    "is a renewal on a machine with %d of five components of its license",
    async (count) => {
      const { desk, site, license_key } = await openMachine();
      const changed = await openCopy(desk, site, mixed(count));
      const request = await makeRequestFrom(changed, "sim", license_key);
      expect(await answer(desk, request)).toMatchObject({ outcome: "answered", serial: 2 });
      expect([lastUse(desk), movesOf(desk, license_key)]).toEqual(["renewal", 0]);
    },
  );

  test("is a move on a machine with two of five components, as from a raw copy of the folder", async () => {
    const { desk, site, license_key } = await openMachine();
    const copy = await openCopy(desk, site, mixed(2));
    const request = await makeRequestFrom(copy, "sim", license_key);
    expect(await answer(desk, request)).toMatchObject({ outcome: "answered", serial: 2 });
    expect([lastUse(desk), movesOf(desk, license_key)]).toEqual(["move", 1]);
  });

  test("waits for a person on other hardware once the moves of the order are used, and for 365 days", async () => {
    const { desk, site, license_key } = await openMachine();
    const second = await openCopy(desk, site, machineOf("b"));
    await answer(desk, await makeRequestFrom(second, "sim", license_key));
    const third = await openCopy(desk, second, machineOf("c"));
    const request = await makeRequestFrom(third, "sim", license_key);
    expect(await answer(desk, request)).toEqual({
      outcome: "decide",
      obstacles: [
        {
          code: "moves_used",
          text: MOVED_TWICE,
          hint: "berth vendor issue --request FILE decides it",
        },
      ],
    });
    expect(movesOf(desk, license_key)).toBe(1);
    const lastDay = later(MONDAY, 365 * DAY - 1);
    expect(codesOf(await answer(desk, request, lastDay))).toEqual(["moves_used"]);
    const nextYear = later(MONDAY, 365 * DAY);
    expect(await answer(desk, request, nextYear)).toMatchObject({ outcome: "answered" });
    expect([lastUse(desk), movesOf(desk, license_key, nextYear)]).toEqual(["move", 1]);
  });

  test("is never a move of its own accord where the order sells no moves", async () => {
    const { desk, site, license_key } = await openMachine();
    await changeOrders(desk, [{ licenseKey: license_key, changes: { moves: 0 } }], MONDAY);
    const copy = await openCopy(desk, site, machineOf("b"));
    const { obstacles } = await answer(desk, await makeRequestFrom(copy, "sim", license_key));
    expect(obstacles?.[0]?.text).toBe(
      "the license goes to other hardware; the order allows 0 moves in 365 days, and 0 were granted since 2025-03-02",
    );
  });

  test("may be moved again by a person, which counts as well", async () => {
    const { desk, site, license_key } = await openMachine();
    const second = await openCopy(desk, site, machineOf("b"));
    await answer(desk, await makeRequestFrom(second, "sim", license_key));
    const third = await openCopy(desk, second, machineOf("c"));
    await issueByHand(desk, await makeRequestFrom(third, "sim", license_key));
    expect([lastUse(desk), movesOf(desk, license_key)]).toEqual(["move", 2]);
  });
});

/** A request of a pair, or of its leader alone, under the key of an order. */
async function requestFromHost(
  { operations }: OpenHost,
  key: string,
  hosts: 1 | 2 = 2,
): Promise<LicenseRequest> {
  const made = unwrap(await operations.licensing.request("sim", key, "test", {}, hosts));
  return unwrap(await verifyLicenseRequest(made.document));
}

describe("an order of two hosts", () => {
  test("is renewed by the pair whose other host leads now, which is no move", async () => {
    const { desk, log, alpha } = await openPairOfTwo();
    const { license_key } = await addOrder(desk, { hosts: 2 });
    const first = await requestFromHost(alpha, license_key);
    await issueByHand(desk, first);
    expect([lastUse(desk), desk.ledger.issuedEntries()[0]?.hosts]).toEqual([
      "take",
      first.pair?.hosts.map(({ hardware_id }) => hardware_id),
    ]);
    const beta = await takeOver(alpha, { log, host: "beta" });
    const next = await requestFromHost(beta, license_key);
    expect(next.hardware_id).not.toBe(first.hardware_id);
    const issued = await issueByHand(desk, next);
    expect([issued.serial, lastUse(desk)]).toEqual([2, "renewal"]);
  });

  test("is held by its two hosts in either order, and by no other one", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const { license_key } = await addOrder(desk, { hosts: 2 });
    const request = await requestFromHost(alpha, license_key);
    const license = await issueByHand(desk, request);
    const [first = [], second = []] = listHardware(request, 2);
    expect(isOtherHardware(license, [first, second])).toBe(false);
    expect(isOtherHardware(license, [second, first])).toBe(false);
    for (const hosts of [[first, first], [second, second], [first], []])
      expect(isOtherHardware(license, hosts)).toBe(true);
    expect(isOtherHardware({ hardware: [first] }, [first, second])).toBe(true);
  });

  test("waits for a person who gets a request for one host, and can bind the license to it", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const { license_key } = await addOrder(desk, { hosts: 2 });
    const request = await requestFromHost(alpha, license_key, 1);
    expect(await answer(desk, request)).toEqual({
      outcome: "decide",
      obstacles: [
        {
          code: "hosts",
          text: `the request is for one host, and the order ${license_key} for two hosts`,
          hint: "berth vendor issue --request FILE --hosts 1 binds the license to that host; berth license request --hosts 2 at the site requests two",
        },
      ],
    });
    const issued = await issueByHand(desk, request, { hosts: 1 });
    expect(issued.hosts).toBeUndefined();
  });
});

test("an order of one host waits for a person who gets a request of a pair, and never grants two", async () => {
  const { desk, alpha } = await openPairOfTwo();
  const { license_key } = await addOrder(desk);
  const request = await requestFromHost(alpha, license_key);
  expect((await answer(desk, request)).obstacles).toEqual([
    {
      code: "hosts",
      text: `the request is for two hosts, and the order ${license_key} for one host`,
      hint: `berth vendor issue --request FILE --hosts 1 binds the license to the leader alone; berth vendor order change ${license_key} --hosts 2 sells two`,
    },
  ]);
  expect(await refusal(issueByHand(desk, request, { hosts: 2 }))).toBe(
    `the order ${license_key} is for one host; berth vendor order change ${license_key} --hosts 2 sells two`,
  );
  const issued = await issueByHand(desk, request, { hosts: 1 });
  expect(issued.hosts).toBeUndefined();
});

describe("the place of a returned license", () => {
  test("goes to another appliance as a move, at once if no slot was borrowed", async () => {
    const { desk, site, license_key } = await openMachine();
    const [{ license_id } = { license_id: 0 }] = desk.ledger.issuedEntries();
    const next = await openSiteOf(desk);
    const request = await makeRequestFrom(next, "sim", license_key);
    const full = await answer(desk, request);
    expect(full.obstacles).toEqual([
      {
        code: "order_full",
        text: `the order ${license_key} is for one appliance, and its place is taken: ${site.services.identity.id}`,
        hint: `ask that site to return its license; if its machine is lost, answer this one with --write-off APPLIANCE --reason TEXT; berth vendor order change ${license_key} --appliances 2 sells another place`,
      },
    ]);
    await returnLicense(desk, site, license_id);
    const answered = await answer(desk, request);
    expect(answered).toMatchObject({ outcome: "answered", serial: 1 });
    expect(answered.license_id).not.toBe(license_id);
    expect([lastUse(desk), movesOf(desk, license_key)]).toEqual(["move", 1]);
  });

  test("goes back to the same appliance as a move as well", async () => {
    const { desk, site, license_key } = await openMachine();
    const [{ license_id } = { license_id: 0 }] = desk.ledger.issuedEntries();
    await returnLicense(desk, site, license_id);
    const again = await answerAndInstall(
      desk,
      site,
      await makeRequestFrom(site, "sim", license_key),
    );
    expect([again.serial, lastUse(desk)]).toEqual([1, "move"]);
    await returnLicense(desk, site, again.license_id ?? 0);
    const third = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    expect(codesOf(third)).toEqual(["moves_used"]);
  });

  test("is free only borrow_hours after the desk received the receipt, if slots were borrowed", async () => {
    const { desk, site } = await openDeskAndSite();
    const terms = { borrow_hours: 48 };
    const { license_key } = await addOrder(desk, { terms });
    const request = await makeRequestFrom(site, "sim", license_key);
    const { license_id } = await answerAndInstall(desk, site, request);
    expectOk(await site.borrow({ product: "sim", user: "ada", borrow_for_hours: 2 }));
    // A shorter time in the order now does not end what was borrowed before.
    const changes = { terms: { borrow_hours: 1 } };
    await changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
    const receivedAt = later(MONDAY, 5 * HOUR);
    await returnLicense(desk, site, license_id ?? 0, receivedAt);
    const next = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    const free = later(receivedAt, 48 * HOUR);
    const before = await answer(desk, next, later(free, -1));
    expect(codesOf(before)).toEqual(["place_waiting"]);
    expect(before.obstacles?.[0]?.text).toBe(
      `a license of the order ${license_key} was returned while slots were borrowed: its place is free at 2026-03-04T14:00:00.000Z`,
    );
    const order = desk.ledger.orders.findOrder(license_key);
    if (order !== null)
      expect(describeOrder(desk, order, receivedAt)).toMatchObject({
        state: "full",
        holders: 0,
        waiting: 1,
      });
    expect(await answer(desk, next, free)).toMatchObject({ outcome: "answered" });
  });
});

test("the first take of each place of an order is no move, and another appliance waits", async () => {
  const { desk, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk, { appliances: 2, moves: 0 });
  const sites = [site, await openSiteOf(desk), await openSiteOf(desk)];
  const answers = [];
  for (const one of sites)
    answers.push(await answer(desk, await makeRequestFrom(one, "sim", license_key)));
  expect(answers.map(({ outcome }) => outcome)).toEqual(["answered", "answered", "decide"]);
  expect(answers[2]?.obstacles?.[0]?.text).toBe(
    `the order ${license_key} is for 2 appliances, and all 2 places are taken: ${sites
      .slice(0, 2)
      .map(({ services }) => services.identity.id)
      .join(", ")}`,
  );
});
