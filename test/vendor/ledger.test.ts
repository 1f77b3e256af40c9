import { describe, expect, test } from "bun:test";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { signTrust } from "../../src/license/trust.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { confirmActivation, makePolicy } from "../../src/vendor/airgap.ts";
import { Desk } from "../../src/vendor/desk.ts";
import { receive } from "../../src/vendor/receive.ts";
import { openAppliance, type Appliance } from "../support/api.ts";
import { issued, openDesk, requestFrom } from "../support/desk.ts";
import { granted } from "../support/licensed-store.ts";
import { MONDAY } from "../support/scenario.ts";

const open = (folder: string) => Desk.open(realDisk, folder, null);

describe("a ledger", () => {
  test.each([
    ["whose last line was interrupted", '{"type":"iss'],
    ["whose last line lacks its end", '{"type":"seen"}'],
    ["with a line that is no entry", "null\n"],
    ["with a line that is no JSON", "what\n"],
  ])("%s is refused, naming the line", async (_what, tail) => {
    const { desk, folder, site } = await openDesk();
    await issued(desk, await requestFrom(site));
    appendFileSync(join(folder, "ledger.jsonl"), tail);
    expect(open(folder)).rejects.toThrow("is damaged at line 3");
  });

  test("that is gone is missed, and not begun anew", async () => {
    const { folder } = await openDesk();
    rmSync(join(folder, "ledger.jsonl"));
    expect(open(folder)).rejects.toThrow("is missing");
  });

  test("takes one of two answers made at once, and the other is told to look again", async () => {
    const { folder, site } = await openDesk();
    const request = await requestFrom(site);
    const [one, two] = [await open(folder), await open(folder)];
    const answers = await Promise.allSettled([
      issued(one, request, { terms: { slots: 1 } }),
      issued(two, request, { terms: { slots: 999 } }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await open(folder)).ledger.issued()).toHaveLength(1);
  });
});

test("a desk opened before somebody else wrote is told to look again", async () => {
  const { desk, folder, site } = await openDesk();
  const before = await open(folder);
  await issued(desk, await requestFrom(site));
  const late = issued(before, await requestFrom(site), { terms: { slots: 9 } });
  expect(late).rejects.toThrow("another command is writing");
  expect((await open(folder)).ledger.issued()).toHaveLength(1);
});

describe("one license key", () => {
  test("is not lent to two appliances, by --license-id either", async () => {
    const { desk, site } = await openDesk();
    const other = await openAppliance({ licenses: {} });
    granted(await other.licensing.trust(await signTrust(desk.vendor, desk.key), "test"));
    const first = await issued(desk, await requestFrom(site, "sim", "K-1"));
    const theirs = await requestFrom(other, "sim", "K-1");
    expect(issued(desk, theirs)).rejects.toThrow("another appliance holds");
    const named = issued(desk, theirs, { licenseId: first.license_id });
    expect(named).rejects.toThrow("belongs to another appliance");
    expect((await issued(desk, theirs, { isNew: true })).serial).toBe(1);
  });
});

describe("one license key by code", () => {
  test("is confirmed for a second appliance only when the first gave it back, or on purpose", async () => {
    const { desk, site } = await openDesk();
    const other = await openAppliance({ licenses: {} });
    const policy = await makePolicy(desk, "basic", { product: "sim" }, MONDAY);
    const confirmFor = async (appliance: Appliance, serial: number | null = null) =>
      confirmActivation(desk, {
        policy,
        licenseKey: "K-1",
        activationCode: granted(await appliance.services.airgap.generate("K-1", "", "test")).code,
        initializationCode: "",
        validUntil: null,
        serial,
        allowWeakBinding: true,
        now: MONDAY,
      });
    await confirmFor(site);
    expect(confirmFor(other)).rejects.toThrow("another appliance holds");
    expect((await confirmFor(site, 9)).policy_id).toBe("basic");
    await confirmFor(site, 3);
    await confirmFor(site);
    expect(desk.ledger.issued().map(({ serial }) => serial)).toEqual([10, 3, 9, 1]);
  });
});

describe("giving back", () => {
  test("counts only for the newest serial that is out, and what is under way never comes in", async () => {
    const { desk, site } = await openDesk();
    const first = await issued(desk, await requestFrom(site));
    granted(await site.licensing.install(first.document, "test"));
    const second = await issued(desk, await requestFrom(site));
    expect([first.serial, second.serial]).toEqual([1, 2]);
    const receipt = granted(await site.licensing.remove(first.license_id, false, "test"));
    expect(receive(desk, receipt, MONDAY)).rejects.toThrow("serial 2 of this license is out");
    const late = await site.licensing.install(second.document, "test");
    expect(late).toMatchObject({ ok: false, fault: { code: "request_unknown" } });
  });
});
