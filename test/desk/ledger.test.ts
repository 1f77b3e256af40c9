import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signTrustDocument } from "../../src/license/trust.ts";
import { errorCode, realDisk } from "../../src/platform/disk.ts";
import { GENESIS, sha256 } from "../../src/platform/hash.ts";
import { confirmActivation, createPolicy } from "../../src/desk/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import { receiveReceipt } from "../../src/desk/receive-receipt.ts";
import { openAppliance, type Appliance } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { failCallAt, FaultyDisk } from "../support/faulty-disk.ts";
import { unwrap } from "../support/licensed-store.ts";
import { MONDAY } from "../support/scenario.ts";

const open = (folder: string) => Desk.open(realDisk, folder, null);

/** Everything on the ledger, as it stands in the file. */
const textIn = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");

describe("a ledger", () => {
  test.each([
    ["that was interrupted", '{"type":"iss'],
    ["that lacks its end", '{"type":"seen"}'],
  ])(
    "with a last line %s is cut behind the line before, and a copy is kept",
    async (_what, tail) => {
      const { desk, folder, site } = await openDeskAndSite();
      const first = await issueTestLicense(desk, await makeRequestFrom(site));
      const whole = textIn(folder);
      appendFileSync(join(folder, "ledger.jsonl"), tail);
      const opened = await open(folder);
      const kept = join(folder, `ledger.jsonl.${Buffer.byteLength(whole)}.torn`);
      expect(opened.ledger.notes).toEqual([
        `${join(folder, "ledger.jsonl")} ended in an interrupted write; its ${tail.length} bytes were moved to ${kept}`,
      ]);
      expect([textIn(folder), readFileSync(kept, "utf8")]).toEqual([whole, tail]);
      expect(opened.ledger.issuedEntries()).toEqual([first]);
      await issueTestLicense(opened, await makeRequestFrom(site), { terms: { slots: 7 } });
      const again = await open(folder);
      expect([again.ledger.issuedEntries().length, again.ledger.notes]).toEqual([2, []]);
    },
  );

  test("that another command is writing to is not cut", async () => {
    const { folder } = await openDeskAndSite();
    const path = join(folder, "ledger.jsonl");
    appendFileSync(path, '{"type":"iss');
    const lock = realDisk.lock(`${path}.lock`);
    expect(open(folder)).rejects.toThrow("another command is writing");
    lock?.release();
    expect(textIn(folder)).toBe('{"type":"iss');
  });

  test.each([
    ["a disk that is full", (disk: FaultyDisk) => (disk.bytesLeft = 700)],
    ["a disk that is full at once", (disk: FaultyDisk) => (disk.bytesLeft = 0)],
    ["a sync that fails", (disk: FaultyDisk) => failCallAt(disk, 1, "EIO", "sync")],
  ])("is as it was after %s, and takes the next answer", async (_what, misbehave) => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const whole = textIn(folder);
    const disk = new FaultyDisk();
    const failing = await Desk.open(disk, folder, null);
    misbehave(disk);
    const request = await makeRequestFrom(site);
    const late = issueTestLicense(failing, request, { terms: { slots: 7 } });
    expect(await late.catch((error: unknown) => errorCode(error))).toMatch(/^(?:ENOSPC|EIO)$/);
    expect(textIn(folder)).toBe(whole);
    disk.clearFaults();
    await issueTestLicense(failing, request, { terms: { slots: 7 } });
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(2);
  });

  test.each([
    ["with a line that is no entry", "null\n"],
    ["with a line that is no JSON", "what\n"],
    ["with a line that was interrupted long ago", '{"type":"iss\n'],
  ])("%s is refused, naming the line", async (_what, tail) => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    appendFileSync(join(folder, "ledger.jsonl"), tail);
    expect(open(folder)).rejects.toThrow("is damaged at line 3");
  });

  test("holds with each line the hash of the one before", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 7 } });
    let sum = GENESIS;
    for (const line of textIn(folder).split("\n").slice(0, -1)) {
      expect((JSON.parse(line) as { prev: string }).prev).toBe(sum);
      sum = sha256(line);
    }
    const reopened = await open(folder);
    await issueTestLicense(reopened, await makeRequestFrom(site), { terms: { slots: 8 } });
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(3);
  });

  test("without one of its lines, or with one changed, is refused, naming the line", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    for (const slots of [1, 2, 3]) {
      await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots } });
    }
    const lines = textIn(folder).split("\n");
    expect(lines).toHaveLength(7);
    const judged = async (changed: string[]): Promise<unknown> => {
      writeFileSync(join(folder, "ledger.jsonl"), changed.join("\n"));
      return open(folder).then(
        () => "taken",
        (error: unknown) => (error as Error).message,
      );
    };
    const path = join(folder, "ledger.jsonl");
    for (let place = 0; place < 5; place += 1) {
      const reason = `${path} does not continue the ledger at line`;
      expect(await judged(lines.toSpliced(place, 1))).toBe(`${reason} ${place + 1}`);
      const changed = lines[place]?.replace('"at":"2026', '"at":"2025') ?? "";
      expect(changed).not.toBe(lines[place]);
      expect(await judged(lines.with(place, changed))).toBe(`${reason} ${place + 2}`);
    }
    const { prev: _prev, ...bare } = JSON.parse(lines[4] ?? "") as { prev: string };
    expect(await judged(lines.with(4, JSON.stringify(bare)))).toContain("at line 6");
    expect(await judged(lines.toSpliced(5, 1))).toBe("ledger.jsonl has only 5 of its 6 lines");
    expect(await judged(lines)).toBe("taken");
  });

  test("of an older version opens, and is a chain from its next line on", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const path = join(folder, "ledger.jsonl");
    const old = textIn(folder).replaceAll(/,"prev":"[0-9a-f]{64}"/g, "");
    expect(old).not.toContain("prev");
    writeFileSync(path, old);
    rmSync(join(folder, "ledger.head"));
    const opened = await open(folder);
    await issueTestLicense(opened, await makeRequestFrom(site), { terms: { slots: 7 } });
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(2);
    const lines = textIn(folder).split("\n");
    writeFileSync(path, lines.toSpliced(1, 1).join("\n"));
    expect(open(folder)).rejects.toThrow("does not continue the ledger at line 2");
  });

  test("that is gone is missed, and not begun anew", async () => {
    const { folder } = await openDeskAndSite();
    rmSync(join(folder, "ledger.jsonl"));
    expect(open(folder)).rejects.toThrow("is missing");
  });

  test("takes one of two answers made at once, and the other is told to look again", async () => {
    const { folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const [one, two] = [await open(folder), await open(folder)];
    const answers = await Promise.allSettled([
      issueTestLicense(one, request, { terms: { slots: 1 } }),
      issueTestLicense(two, request, { terms: { slots: 999 } }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(1);
  });
});

test("a desk opened before somebody else wrote is told to look again", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const before = await open(folder);
  await issueTestLicense(desk, await makeRequestFrom(site));
  const late = issueTestLicense(before, await makeRequestFrom(site), { terms: { slots: 9 } });
  expect(late).rejects.toThrow("another command is writing");
  expect((await open(folder)).ledger.issuedEntries()).toHaveLength(1);
});

describe("one license key", () => {
  test("is not lent to two appliances, by --license-id either", async () => {
    const { desk, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    unwrap(
      await other.licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "test"),
    );
    const first = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"));
    const theirs = await makeRequestFrom(other, "sim", "K-1");
    expect(issueTestLicense(desk, theirs)).rejects.toThrow("another appliance has");
    const named = issueTestLicense(desk, theirs, { licenseId: first.license_id });
    expect(named).rejects.toThrow("belongs to another appliance");
    expect((await issueTestLicense(desk, theirs, { isNew: true })).serial).toBe(1);
  });
});

describe("one license key by code", () => {
  test("is confirmed for a second appliance only when the first gave it back, or on purpose", async () => {
    const { desk, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    const policy = await createPolicy(desk, "basic", { product: "sim" }, MONDAY);
    const confirmFor = async (appliance: Appliance, serial: number | null = null) =>
      confirmActivation(desk, {
        policy,
        licenseKey: "K-1",
        activationCode: unwrap(
          await appliance.services.airgap.createActivationCode("K-1", "", "test"),
        ).code,
        initializationCode: "",
        validUntil: null,
        serial,
        allowWeakBinding: true,
        now: MONDAY,
      });
    await confirmFor(site);
    expect(confirmFor(other)).rejects.toThrow("another appliance has");
    expect((await confirmFor(site, 9)).policy_id).toBe("basic");
    await confirmFor(site, 3);
    await confirmFor(site);
    expect(desk.ledger.issuedEntries().map(({ serial }) => serial)).toEqual([10, 3, 9, 1]);
  });

  test("that two appliances gave back with one serial is given back by both", async () => {
    const { desk, site } = await openDeskAndSite();
    const others = [await openAppliance({ licenses: {} }), await openAppliance({ licenses: {} })];
    const policy = await createPolicy(desk, "basic", { product: "sim" }, MONDAY);
    const trust = await signTrustDocument(desk.vendor, desk.key);
    const confirmFor = async ({ services }: Appliance, serial: number | null) => {
      const activationCode = unwrap(
        await services.airgap.createActivationCode("K-1", "", "test"),
      ).code;
      const named = { policy, licenseKey: "K-1", activationCode, initializationCode: "" };
      const more = { validUntil: null, serial, allowWeakBinding: true, now: MONDAY };
      const { confirmation_code: code } = await confirmActivation(desk, { ...named, ...more });
      const asked = { policy, licenseKey: "K-1", policyId: null, code, peer: "test" };
      return unwrap(await services.airgap.installLicense(asked)).id;
    };
    for (const appliance of [site, ...others.slice(0, 1)]) {
      unwrap(await appliance.licensing.trustVendor(trust, "test"));
      const id = await confirmFor(appliance, 1);
      const receipt = unwrap(await appliance.licensing.removeLicense(id, false, "test"));
      await receiveReceipt(desk, receipt, MONDAY);
      await receiveReceipt(desk, receipt, MONDAY);
    }
    expect(desk.ledger.receiptEntries().map(({ appliance }) => appliance)).toEqual([
      site.services.identity.id,
      others[0]?.services.identity.id ?? "",
    ]);
    const last = others[1];
    if (last === undefined) throw new Error("there is no third appliance");
    unwrap(await last.licensing.trustVendor(trust, "test"));
    await confirmFor(last, null);
    expect(desk.ledger.issuedEntries()[0]?.serial).toBe(2);
  });

  test.each(["K-1\u200b", "K-1 ", "\u202eK-1"])("%j is refused as a key", async (licenseKey) => {
    const { desk, site } = await openDeskAndSite();
    const policy = await createPolicy(desk, "basic", { product: "sim" }, MONDAY);
    const { code } = unwrap(await site.services.airgap.createActivationCode("K-1", "", "test"));
    const confirming = confirmActivation(desk, {
      policy,
      licenseKey,
      activationCode: code,
      initializationCode: "",
      validUntil: null,
      serial: null,
      allowWeakBinding: true,
      now: MONDAY,
    });
    expect(confirming).rejects.toThrow("invisible characters");
    expect(desk.ledger.issuedEntries()).toEqual([]);
  });
});

describe("giving back", () => {
  test("counts only for the newest serial that is out, and what is under way never comes in", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    unwrap(await site.licensing.installLicense(first.document, "test"));
    const second = await issueTestLicense(desk, await makeRequestFrom(site));
    expect([first.serial, second.serial]).toEqual([1, 2]);
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    expect(receiveReceipt(desk, receipt, MONDAY)).rejects.toThrow(
      "the newest serial of this license is 2",
    );
    const late = await site.licensing.installLicense(second.document, "test");
    expect(late).toMatchObject({ ok: false, fault: { code: "request_unknown" } });
  });
});
