import { describe, expect, test } from "bun:test";
import type { Desk } from "../../../src/desk/desk.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
  type ConfirmOptions,
} from "../../../src/desk/issuing/airgap.ts";
import { describeOrder } from "../../../src/desk/orders/order-list.ts";
import type { NewOrder } from "../../../src/desk/orders/orders.ts";
import { expectOk, type Appliance } from "../../support/appliance.ts";
import { AirgapSite } from "../../support/airgap-site.ts";
import { refusal } from "../../support/desk-refusal.ts";
import { makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  codesOf,
  machineOf,
  openSiteOf,
  refusalAt,
} from "../../support/orders.ts";
import { MONDAY } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const END = "2027-01-01T00:00:00.000Z";

/** A desk with the policy `sim-1`, an order for it, and a site. */
async function openDeskWithPolicy({ terms, ...differing }: Partial<NewOrder> = {}) {
  const { desk, folder, site } = await openDeskAndSite({ components: machineOf("a") });
  const policy = await createPolicy(
    desk,
    "sim-1",
    { product: "sim", slots: 3, valid_until: null },
    MONDAY,
  );
  const order = { policy_id: "sim-1", terms: { valid_until: END, ...terms }, ...differing };
  const { license_key: key } = await addOrder(desk, order);
  return { desk, folder, site, policy, key };
}

/** The activation code of a site, which may spell the key in its own way. */
const activate = (desk: Desk, site: Appliance, key: string): Promise<string> =>
  new AirgapSite(site, desk).requestActivationCode(key);

/** Confirms a code as a person does who was not asked anything. */
const confirm = (
  desk: Desk,
  options: Pick<ConfirmOptions, "policy" | "licenseKey" | "activationCode"> &
    Partial<ConfirmOptions>,
) => confirmActivation(desk, { ...USUAL_CONFIRMATION, now: MONDAY, ...options });

describe("a code for a place of an order", () => {
  test("has the end of the order, is accepted by its site and takes the place", async () => {
    const { desk, site, policy, key } = await openDeskWithPolicy();
    const activationCode = await activate(desk, site, key);
    const confirmed = await confirm(desk, { policy, licenseKey: key, activationCode });
    expect(confirmed).toMatchObject({
      policy_id: "sim-1",
      terms: { slots: 3, valid_until: END, license_key: key },
      reasons: [],
      lost: null,
    });
    const license = await new AirgapSite(site, desk).addLicense({
      license_policy: policy,
      license_key: key,
      policy_id: "sim-1",
      confirmation_code: confirmed.confirmation_code,
    });
    expect(expectOk(license)).toMatchObject({ license_key: key });
    expect(desk.ledger.issuedEntries()[0]).toMatchObject({ use: "take", jwk: null });
    const order = desk.ledger.orders.findOrder(key);
    if (order !== null)
      expect(describeOrder(desk, order, MONDAY)).toMatchObject({ state: "full", holders: 1 });
    const other = await openSiteOf(desk);
    const byFile = await answer(desk, await makeRequestFrom(other, "sim", key));
    expect(codesOf(byFile)).toEqual(["order_full"]);
  });

  test("is the same code again for the same activation", async () => {
    const { desk, site, policy, key } = await openDeskWithPolicy();
    const activationCode = await activate(desk, site, key);
    const options = { policy, licenseKey: key.toLowerCase().replaceAll("-", " "), activationCode };
    const { confirmation_code } = await confirm(desk, options);
    expect(await confirm(desk, options)).toMatchObject({ confirmation_code });
    expect(desk.ledger.issuedUnder(key)).toHaveLength(1);
  });

  test("needs an order with the terms of its policy, which the site gets", async () => {
    const other = openDeskWithPolicy({ terms: { slots: 9, valid_until: null } });
    expect(await refusal(other)).toContain("policy sim-1 differs from the order: slots 9 → 3");
  });

  test("is allowed for a weak binding by the order alone", async () => {
    for (const allow of [false, true]) {
      const { desk, folder, policy, key } = await openDeskWithPolicy({ allow_weak_binding: allow });
      const components = [{ kind: "machine_id", value: "only one" }] as const;
      const weak = await openSiteOf(desk, { components });
      const options = { policy, licenseKey: key, activationCode: await activate(desk, weak, key) };
      if (allow) expect((await confirm(desk, options)).reasons).toEqual([]);
      else
        expect(await refusalAt(folder, () => confirm(desk, options))).toBe(
          "the appliance has a weak hardware binding; --allow-weak-binding accepts it",
        );
    }
  });

  test("needs no further question under a key that the vendor chose, because a person confirms it", async () => {
    const { desk, site, policy } = await openDeskWithPolicy({ licenseKey: "ACME-1" });
    const activationCode = await activate(desk, site, "ACME-1");
    const { reasons } = await confirm(desk, { policy, licenseKey: "ACME-1", activationCode });
    expect(reasons).toMatchObject([{ code: "vendor_key" }]);
  });
});

describe("a code under the key of an order is refused", () => {
  test.each<readonly [string, Partial<ConfirmOptions>, string]>([
    [
      "with another end",
      { validUntil: MONDAY },
      `the order KEY ends on ${END}; omit --valid-until, or change the order: berth vendor order change KEY`,
    ],
    [
      "with a serial",
      { serial: 7 },
      "the order KEY decides whether a code may be confirmed; omit --serial; --write-off APPLIANCE frees the place of a lost machine",
    ],
    [
      "for a lost machine that does not hold it",
      { writeOff: { appliance: "0000000000000000", reason: "lost" } },
      "appliance 0000000000000000 does not hold the order KEY; berth vendor order show KEY shows who does",
    ],
  ])("%s", async (_, differing, expected) => {
    const { desk, folder, site, policy, key } = await openDeskWithPolicy();
    const activationCode = await activate(desk, site, key);
    const attempt = () => confirm(desk, { policy, licenseKey: key, activationCode, ...differing });
    expect(await refusalAt(folder, attempt)).toBe(expected.replaceAll("KEY", key));
  });

  test.each<readonly [string, Partial<NewOrder>, string]>([
    [
      "that is sold by file alone",
      { policy_id: null },
      "the order KEY names no policy; berth vendor order change KEY --policy-id ID",
    ],
    [
      "that ends too late for a code",
      { terms: { valid_until: "3000-01-01T00:00:00.000Z" } },
      "the order KEY ends on 3000-01-01T00:00:00.000Z, and a code can only hold a day until 2149; change its end: berth vendor order change KEY --valid-until DAY",
    ],
    [
      "that ends within a day",
      { terms: { valid_until: "2027-01-01T09:00:00.000Z" } },
      "the order KEY ends on 2027-01-01T09:00:00.000Z, and a code can only hold a day until 2149; change its end: berth vendor order change KEY --valid-until DAY",
    ],
  ])("%s", async (_, differing, expected) => {
    const { desk, folder, site, policy, key } = await openDeskWithPolicy(differing);
    const activationCode = await activate(desk, site, key);
    const attempt = () => confirm(desk, { policy, licenseKey: key, activationCode });
    expect(await refusalAt(folder, attempt)).toBe(expected.replaceAll("KEY", key));
  });

  test("that is for another policy", async () => {
    const { desk, folder, site, key } = await openDeskWithPolicy();
    const policy = await createPolicy(desk, "other", { product: "sim", valid_until: null }, MONDAY);
    const activationCode = await activate(desk, site, key);
    const attempt = () => confirm(desk, { policy, licenseKey: key, activationCode });
    expect(await refusalAt(folder, attempt)).toBe(
      `the order ${key} is for policy sim-1, not for other; berth vendor order change ${key} --policy-id ID`,
    );
  });

  test("that all its appliances hold, also with a person's decision", async () => {
    const { desk, folder, site, policy, key } = await openDeskWithPolicy();
    await answer(desk, await makeRequestFrom(site, "sim", key));
    const other = await openSiteOf(desk);
    const activationCode = await activate(desk, other, key);
    const attempt = () =>
      confirm(desk, { policy, licenseKey: key, activationCode, isDecided: true });
    expect(await refusalAt(folder, attempt)).toStartWith(
      `the order ${key} is for one appliance, and its place is taken: ${site.services.identity.id}`,
    );
  });
});

describe("an appliance holds an order by file or by code, never both", () => {
  test("so a holder by file gets no code", async () => {
    const { desk, folder, site, policy, key } = await openDeskWithPolicy({ appliances: 2 });
    const { license_id } = await answer(desk, await makeRequestFrom(site, "sim", key));
    const activationCode = await activate(desk, site, key);
    const attempt = () => confirm(desk, { policy, licenseKey: key, activationCode });
    expect(await refusalAt(folder, attempt)).toBe(
      `this appliance holds the order ${key} by file: license ${license_id}; ask the site to return it first, or answer its next request`,
    );
  });

  test("so a holder by code gets no file", async () => {
    const { desk, site, policy, key } = await openDeskWithPolicy({ appliances: 2 });
    const activationCode = await activate(desk, site, key);
    await confirm(desk, { policy, licenseKey: key, activationCode });
    const { obstacles } = await answer(desk, await makeRequestFrom(site, "sim", key));
    expect(obstacles).toMatchObject([
      {
        code: "other_form",
        hint: "ask the site to return it first, or confirm its next activation code",
      },
    ]);
  });
});

describe("a code for other hardware of the appliance", () => {
  test("is a move, and beyond the moves of the order a person is asked", async () => {
    const { desk, folder, site, policy, key } = await openDeskWithPolicy();
    const confirmFor = async (from: Appliance, isDecided = false) =>
      confirm(desk, {
        policy,
        licenseKey: key,
        activationCode: await activate(desk, from, key),
        isDecided,
      });
    await confirmFor(site);
    await confirmFor(site);
    const uses = () => desk.ledger.issuedEntries().map(({ use }) => use);
    expect(uses()).toEqual(["renewal", "take"]);
    const copy = (from: Appliance, name: string) =>
      openSiteOf(desk, { folder: copyFolder(from.folder), components: machineOf(name) });
    const second = await copy(site, "b");
    await confirmFor(second);
    expect(uses()).toEqual(["move", "renewal", "take"]);
    const third = await copy(second, "c");
    expect(await refusalAt(folder, () => confirmFor(third))).toBe(
      "the license goes to other hardware; the order allows 1 move in 365 days, and 1 was granted since 2025-03-02; --yes confirms the code nevertheless",
    );
    const { reasons } = await confirmFor(third, true);
    expect(reasons).toMatchObject([{ code: "moves_used" }]);
    expect(uses()[0]).toBe("move");
  });
});

test("a lost machine's place is given to a code, with a higher serial of the same license", async () => {
  const { desk, site, policy, key } = await openDeskWithPolicy();
  const first = await activate(desk, site, key);
  await confirm(desk, { policy, licenseKey: key, activationCode: first });
  const next = await openSiteOf(desk);
  const lost = site.services.identity.id;
  const confirmed = await confirm(desk, {
    policy,
    licenseKey: key,
    activationCode: await activate(desk, next, key),
    writeOff: { appliance: lost, reason: "the disk died" },
  });
  expect(confirmed.lost).toMatchObject({ appliance: lost, serial: 1 });
  const [newest] = desk.ledger.issuedEntries();
  expect(newest).toMatchObject({ appliance: next.services.identity.id, serial: 2, use: "move" });
  expect(desk.ledger.orders.writeOffsOf(lost)).toHaveLength(1);
});
