import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Desk } from "../../../src/desk/desk.ts";
import { beginRestored, endRestored } from "../../../src/desk/orders/unknown-licenses.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  answerAndInstall,
  codesOf,
  issueByHand,
  openSiteOf,
  readLedgerText,
  refusalAt,
} from "../../support/orders.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { runOrThrow } from "../../support/run-berth.ts";
import { MONDAY } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const BEHIND = {
  code: "desk_restored",
  text: "the ledger may lack what this desk issued or received, and the appliance may be no holder",
  hint: "berth vendor issue --request FILE decides it",
};

test("a desk that berth vendor restore wrote answers only holders automatically, until an owner ends that", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk, { appliances: 2 });
  await answerAndInstall(desk, site, await makeRequestFrom(site, "sim", license_key));
  const backup = join(tempFolder(), "desk.backup");
  await runOrThrow(["vendor", "backup", backup, "--dir", folder, "--yes"]);
  const restoredFolder = join(tempFolder(), "desk");
  await runOrThrow(["vendor", "restore", backup, "--dir", restoredFolder]);
  const restored = await Desk.open(realDisk, restoredFolder, null);
  expect(restored.ledger.orders.restored?.cause).toStartWith("it was restored from a backup of 20");

  const renewal = await answer(restored, await makeRequestFrom(site, "sim", license_key));
  expect(renewal).toMatchObject({ outcome: "answered", serial: 2 });
  const next = await openSiteOf(restored);
  const request = await makeRequestFrom(next, "sim", license_key);
  expect(await answer(restored, request)).toEqual({ outcome: "decide", obstacles: [BEHIND] });

  expect(await refusalAt(restoredFolder, () => endRestored(restored, " ", MONDAY))).toBe(
    "the reason is empty; say why the ledger is complete again",
  );
  await endRestored(restored, "nothing was issued since", MONDAY);
  expect(await answer(restored, request)).toMatchObject({ outcome: "answered", serial: 1 });
  const ended = readLedgerText(restoredFolder);
  await endRestored(restored, "again", MONDAY);
  expect(readLedgerText(restoredFolder)).toBe(ended);
});

test("a person may answer a new appliance while the ledger may be behind", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk);
  const cause = "it was restored from a backup of 2026-03-01T00:00:00.000Z";
  await desk.transact((append) =>
    append({ type: "restored", at: "2026-03-02T09:00:00.000Z", cause }),
  );
  const request = await makeRequestFrom(site, "sim", license_key);
  expect(codesOf(await answer(desk, request))).toEqual(["desk_restored"]);
  expect((await issueByHand(desk, request)).use).toBe("take");
  expect((await Desk.open(realDisk, folder, null)).ledger.orders.restored).toMatchObject({ cause });
});

describe("a desk whose folder was rolled back by hand", () => {
  /** A site has a license, or a renewal, that the ledger of the earlier copy lacks. */
  async function rollBack(what: "a license" | "a renewal") {
    const { desk, folder, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk, { appliances: 9 });
    const install = async () =>
      answerAndInstall(desk, site, await makeRequestFrom(site, "sim", license_key));
    if (what === "a renewal") await install();
    const earlier = join(tempFolder(), "desk");
    cpSync(folder, earlier, { recursive: true });
    const { license_id, serial } = await install();
    const rolledBack = await Desk.open(realDisk, earlier, null);
    const cause = `appliance ${site.services.identity.id} has license ${license_id}, serial ${serial}, which the ledger lacks`;
    return { desk: rolledBack, folder: earlier, site, license_key, cause };
  }

  test("finds that a site has a license which its ledger lacks, records it, and answers no new appliance", async () => {
    const { desk, folder, site, license_key, cause } = await rollBack("a license");
    const request = await makeRequestFrom(site, "sim", license_key);
    const refused = await answer(desk, request);
    expect(refused.outcome).toBe("decide");
    expect(codesOf(refused)).toEqual(["desk_restored", "warning"]);
    expect(refused.obstacles?.[1]?.text).toBe(cause);
    expect(desk.ledger.orders.restored).toMatchObject({ type: "restored", cause });
    // A person sees it once: the state is recorded once.
    const recorded = readLedgerText(folder);
    await answer(desk, request);
    expect(readLedgerText(folder)).toBe(recorded);
    const next = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    expect(codesOf(await answer(desk, next))).toEqual(["desk_restored"]);
  });

  test("finds that a site has a higher serial, and answers that holder only by a person", async () => {
    const { desk, site, license_key, cause } = await rollBack("a renewal");
    const request = await makeRequestFrom(site, "sim", license_key);
    const refused = await answer(desk, request);
    expect(refused.obstacles).toEqual([
      { code: "warning", text: cause, hint: "berth vendor issue --request FILE decides it" },
    ]);
    expect(desk.ledger.orders.restored).toMatchObject({ cause });
  });

  test("records it as well if a person issues the license, in one step with it", async () => {
    const { desk, folder, site, license_key, cause } = await rollBack("a license");
    await issueByHand(desk, await makeRequestFrom(site, "sim", license_key));
    expect(desk.ledger.orders.restored).toMatchObject({ cause });
    const types = readLedgerText(folder)
      .trimEnd()
      .split("\n")
      .slice(-3)
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(["seen", "restored", "issued"]);
  });

  test("is not put into that state again by what a person knew when it ended", async () => {
    const { desk, site, license_key } = await rollBack("a license");
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    await endRestored(desk, "the order was entered again", MONDAY);
    const again = await answer(desk, await makeRequestFrom(site, "sim", license_key));
    expect(codesOf(again)).toEqual(["desk_restored", "warning"]);
    expect(desk.ledger.orders.restored).toBeNull();
    const next = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    expect((await answer(desk, next)).outcome).toBe("answered");
  });

  test("is not put into that state by an unknown appliance that asks for no order", async () => {
    const { desk } = await openDeskAndSite();
    const other = await openSiteOf(desk);
    const request = await makeRequestFrom(other, "sim");
    const { vendor } = desk.vendor;
    const claimed = { license_id: 7, product: "sim", vendor, serial: 1, total_consumptions: 0 };
    const refused = await answer(desk, { ...request, licenses: [claimed] });
    expect(codesOf(refused)).toEqual(["no_order", "warning"]);
    expect(desk.ledger.orders.restored).toBeNull();
  });

  test("renews no license of a holder whose request does not list it: it may have been returned", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk);
    await answerAndInstall(desk, site, await makeRequestFrom(site, "sim", license_key));
    const renewal = await makeRequestFrom(site, "sim", license_key);
    await beginRestored(desk, "the disk was replaced", MONDAY);
    expect(codesOf(await answer(desk, { ...renewal, licenses: [] }))).toEqual(["desk_restored"]);
    expect((await answer(desk, renewal)).outcome).toBe("answered");
  });

  test("goes on with the site's license by --license-id, so that its slots are not added", async () => {
    const { desk, site, license_key } = await rollBack("a license");
    const request = await makeRequestFrom(site, "sim", license_key);
    const [installed] = request.licenses;
    const licenseId = installed?.license_id ?? 0;
    const issued = await issueByHand(desk, request, { licenseId });
    expect(issued).toMatchObject({ license_id: licenseId, serial: 2, use: "take" });
    unwrap(await site.licensing.installLicense(issued.document, "test"));
    expect((await makeRequestFrom(site, "sim", license_key)).licenses).toHaveLength(1);
  });
});
