import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Desk } from "../../../src/desk/desk.ts";
import { endRestored } from "../../../src/desk/orders/unknown-licenses.ts";
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
import { runOrThrow } from "../../support/run-berth.ts";
import { MONDAY } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const BEHIND = {
  code: "desk_restored",
  text: "the ledger may lack what this desk issued, and does not know the appliance as a holder",
  hint: "berth vendor issue --request FILE decides it",
};

test("a desk that berth vendor restore wrote answers only holders automatically, until an owner ends that", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_key } = await addOrder(desk, { appliances: 2 });
  await answer(desk, await makeRequestFrom(site, "sim", license_key));
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
});
