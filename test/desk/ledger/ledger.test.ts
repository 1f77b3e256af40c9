import { describe, expect, spyOn, test } from "bun:test";
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { GENESIS, sha256 } from "../../../src/platform/crypto/hash.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../../src/desk/issuing/airgap.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { USUAL_OPTIONS } from "../../../src/desk/issuing/issue-options.ts";
import { issueLicense, prepareLicense } from "../../../src/desk/issuing/issue.ts";
import { Ledger } from "../../../src/desk/ledger/ledger.ts";
import { receiveReceipt } from "../../../src/desk/issuing/receive-receipt.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { openAppliance, type Appliance } from "../../support/appliance.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { replaceKey, signNextTrust } from "../../support/desk-keys.ts";
import { failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { MONDAY } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const open = (folder: string) => Desk.open(realDisk, folder, null);

/** The text of the ledger file. */
const readLedger = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");

describe("the ledger", () => {
  test.each([
    ["an interrupted write", '{"type":"iss'],
    ["a line without a line feed", '{"type":"seen"}'],
  ])(
    "is cut after its last complete line if it ends in %s, and the rest is kept in a file",
    async (_description, tail) => {
      const { desk, folder, site } = await openDeskAndSite();
      const first = await issueTestLicense(desk, await makeRequestFrom(site));
      const complete = readLedger(folder);
      appendFileSync(join(folder, "ledger.jsonl"), tail);
      const opened = await open(folder);
      const tornPath = join(folder, `ledger.jsonl.${Buffer.byteLength(complete)}.torn`);
      expect(opened.ledger.notes).toEqual([
        `${join(folder, "ledger.jsonl")} ended in an interrupted write; its ${tail.length} bytes were moved to ${tornPath}`,
      ]);
      expect([readLedger(folder), readFileSync(tornPath, "utf8")]).toEqual([complete, tail]);
      expect(opened.ledger.issuedEntries()).toMatchObject([first]);
      await issueTestLicense(opened, await makeRequestFrom(site), { terms: { slots: 7 } });
      const { ledger } = await open(folder);
      expect([ledger.issuedEntries().length, ledger.notes]).toEqual([2, []]);
    },
  );

  test("is not cut while another command is writing to it: the next one waits", async () => {
    const { folder } = await openDeskAndSite();
    const path = join(folder, "ledger.jsonl");
    appendFileSync(path, '{"type":"iss');
    const torn = readLedger(folder);
    const lock = realDisk.lock(`${path}.lock`);
    const opening = open(folder);
    await Bun.sleep(50);
    expect(readLedger(folder)).toBe(torn);
    lock?.release();
    expect((await opening).ledger.notes).toHaveLength(1);
    expect(torn.startsWith(readLedger(folder))).toBe(true);
  });

  test("is refused to a command that waited 10 s for another one", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const lock = realDisk.lock(`${join(folder, "ledger.jsonl")}.lock`);
    const clock = spyOn(performance, "now");
    let now = 0;
    clock.mockImplementation(() => (now += 6_000));
    const attempt = issueTestLicense(desk, request).finally(() => clock.mockRestore());
    expect(attempt).rejects.toThrow("the desk is busy");
    await attempt.catch(() => {});
    lock?.release();
    expect((await issueTestLicense(desk, request)).serial).toBe(1);
  });

  test.each([
    ["the disk becomes full during the write", (disk: FaultyDisk) => (disk.bytesLeft = 700)],
    ["the disk is full before the write", (disk: FaultyDisk) => (disk.bytesLeft = 0)],
    ["a sync fails", (disk: FaultyDisk) => failCallAt(disk, 1, "EIO", "sync")],
  ])("is unchanged if %s, and accepts the next answer", async (_description, breakDisk) => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const before = readLedger(folder);
    const disk = new FaultyDisk();
    const failing = await Desk.open(disk, folder, null);
    breakDisk(disk);
    const request = await makeRequestFrom(site);
    const attempt = issueTestLicense(failing, request, { terms: { slots: 7 } });
    expect(await attempt.catch((error: unknown) => errorCode(error))).toMatch(/^(?:ENOSPC|EIO)$/);
    expect(readLedger(folder)).toBe(before);
    disk.clearFaults();
    await issueTestLicense(failing, request, { terms: { slots: 7 } });
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(2);
  });

  test.each([
    ["a line is not an entry", "null\n"],
    ["a line is not JSON", "what\n"],
    ["an incomplete line is followed by a line feed", '{"type":"iss\n'],
  ])("is refused with the line number if %s", async (_description, tail) => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    appendFileSync(join(folder, "ledger.jsonl"), tail);
    expect(open(folder)).rejects.toThrow("is damaged at line 5");
  });

  test("contains in each line the hash of the line before", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 7 } });
    let sum = GENESIS;
    for (const line of readLedger(folder).split("\n").slice(0, -1)) {
      expect((JSON.parse(line) as { prev: string }).prev).toBe(sum);
      sum = sha256(line);
    }
    const reopened = await open(folder);
    await issueTestLicense(reopened, await makeRequestFrom(site), { terms: { slots: 8 } });
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(3);
  });

  test("without ledger.head is refused with the line number if a line was removed or changed", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    for (const slots of [1, 2, 3]) {
      await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots } });
    }
    const lines = readLedger(folder).split("\n");
    expect(lines).toHaveLength(9);
    const head = readFileSync(join(folder, "ledger.head"));
    rmSync(join(folder, "ledger.head"));
    const openWith = async (changed: string[]): Promise<unknown> => {
      writeFileSync(join(folder, "ledger.jsonl"), changed.join("\n"));
      return open(folder).then(
        () => "opened",
        (error: unknown) => (error as Error).message,
      );
    };
    const path = join(folder, "ledger.jsonl");
    for (let index = 0; index < 7; index += 1) {
      const reason = `${path} does not continue the ledger at line`;
      expect(await openWith(lines.toSpliced(index, 1))).toBe(`${reason} ${index + 1}`);
      const changed = lines[index]?.replace('"at":"2026', '"at":"2025') ?? "";
      expect(changed).not.toBe(lines[index]);
      expect(await openWith(lines.with(index, changed))).toBe(`${reason} ${index + 2}`);
    }
    const { prev: _prev, ...bare } = JSON.parse(lines[6] ?? "") as { prev: string };
    expect(await openWith(lines.with(6, JSON.stringify(bare)))).toContain("at line 7");
    writeFileSync(join(folder, "ledger.head"), head);
    expect(await openWith(lines.toSpliced(7, 1))).toBe("ledger.jsonl has only 7 of its 8 lines");
    expect(await openWith(lines)).toBe("opened");
  });

  test("with a line changed before ledger.head opens, and verify names the line", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    for (const slots of [1, 2, 3])
      await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots } });
    const lines = readLedger(folder).split("\n");
    for (let index = 0; index < 7; index += 1) {
      const changed = lines[index]?.replace('"at":"2026', '"at":"2025') ?? "";
      expect(changed).not.toBe(lines[index]);
      writeFileSync(join(folder, "ledger.jsonl"), lines.with(index, changed).join("\n"));
      expect((await open(folder)).ledger.issuedEntries()).toHaveLength(3);
      const { faults } = await verifyDesk(realDisk, folder, null);
      expect(faults).toEqual([
        { location: `ledger.jsonl line ${index + 2}`, problem: "does not continue the ledger" },
      ]);
    }
    const path = join(folder, "ledger.jsonl");
    const last = lines[7]?.replace('"at":"2026', '"at":"2025') ?? "";
    writeFileSync(path, lines.with(7, last).join("\n"));
    expect(open(folder)).rejects.toThrow("line 8 was changed after it was written");
    // The head does not fit, so that all lines are checked.
    const fifth = lines[4]?.replace('"at":"2026', '"at":"2025') ?? "";
    writeFileSync(path, lines.with(7, last).with(4, fifth).join("\n"));
    expect(open(folder)).rejects.toThrow("does not continue the ledger at line 6");
    for (let index = 0; index < 7; index += 1) {
      writeFileSync(path, lines.toSpliced(index, 1).join("\n"));
      expect(open(folder)).rejects.toThrow(`does not continue the ledger at line ${index + 1}`);
    }
    writeFileSync(path, lines.with(4, `{${" ".repeat((lines[4] ?? "").length - 1)}`).join("\n"));
    expect(open(folder)).rejects.toThrow("is damaged at line 5");
  });

  test("checks the lines that ledger.head does not count yet", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const head = readFileSync(join(folder, "ledger.head"));
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 7 } });
    writeFileSync(join(folder, "ledger.head"), head);
    const text = readLedger(folder);
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(2);
    const lines = text.split("\n");
    const changed = lines.with(4, lines[4]?.replace('"at":"2026', '"at":"2025') ?? "").join("\n");
    expect(changed).not.toBe(text);
    writeFileSync(join(folder, "ledger.jsonl"), changed);
    expect(open(folder)).rejects.toThrow("does not continue the ledger at line 6");
  });

  test("is read once when a desk is opened, except for its first line", async () => {
    const { folder } = await openDeskAndSite();
    const disk = new FaultyDisk();
    const lengths: number[] = [];
    const readPart = disk.readPart.bind(disk);
    disk.readPart = (path, offset, length) => {
      if (path.endsWith("ledger.jsonl")) lengths.push(length);
      return readPart(path, offset, length);
    };
    await Desk.open(disk, folder, null);
    expect(lengths.filter((length) => length > 256 * 1024)).toHaveLength(1);
    expect(disk.listCalls("read")).not.toContain("read ledger.jsonl");
  });

  test("is reported as missing if its file is gone, and not created again", async () => {
    const { folder } = await openDeskAndSite();
    rmSync(join(folder, "ledger.jsonl"));
    expect(open(folder)).rejects.toThrow("is missing");
  });

  test("accepts only one of two concurrent answers", async () => {
    const { folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const [first, second] = [await open(folder), await open(folder)];
    const answers = await Promise.allSettled([
      issueTestLicense(first, request, { terms: { slots: 1 } }),
      issueTestLicense(second, request, { terms: { slots: 999 } }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await open(folder)).ledger.issuedEntries()).toHaveLength(1);
  });
});

test("a desk that was opened before another command wrote decides with what that one wrote", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const before = await open(folder);
  const { license_id } = await issueTestLicense(desk, await makeRequestFrom(site));
  const request = await makeRequestFrom(site);
  const renewal = await issueTestLicense(before, request, { terms: { slots: 9 } });
  expect(renewal).toMatchObject({ license_id, serial: 2 });
  expect((await open(folder)).ledger.issuedEntries()).toHaveLength(2);
});

test("a license that differs from the one that was shown, because of another command, is not signed", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { license_id } = await issueTestLicense(desk, await makeRequestFrom(site));
  const terms = { slots: 9 };
  const options = {
    ...USUAL_OPTIONS,
    now: MONDAY,
    request: null,
    renewLicenseId: license_id,
    terms,
  };
  const shown = prepareLicense(desk, options);
  await issueTestLicense(await open(folder), null, { renewLicenseId: license_id });
  const before = readLedger(folder);
  expect(issueLicense(desk, options, shown)).rejects.toThrow("nothing was signed");
  expect(readLedger(folder)).toBe(before);
  expect((await issueLicense(desk, options, prepareLicense(desk, options))).serial).toBe(3);
});

test("an open desk signs with what it accepts meanwhile: a new key, a product, a retirement", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const { id } = await replaceKey(folder);
  expect((await issueTestLicense(desk, await makeRequestFrom(site))).key).toBe(id);
  await signNextTrust(folder, { products: ["sim", "cad"] });
  await createPolicy(desk, "basic", { product: "cad", valid_until: null }, MONDAY);
  await signNextTrust(folder, { retired: [id] });
  const request = await makeRequestFrom(site);
  expect(issueTestLicense(desk, request)).rejects.toThrow(`${id} of this desk is retired`);
});

test("a line that another command appends while the ledger is opened is no lost line", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const earlier = join(tempFolder(), "desk");
  cpSync(folder, earlier, { recursive: true });
  await issueTestLicense(desk, await makeRequestFrom(site));
  const disk = new FaultyDisk();
  let reads = 0;
  disk.beforeCall = ({ name, path }) => {
    reads += name.startsWith("read") && /ledger\.(?:head|jsonl)$/.test(path) ? 1 : 0;
    if (reads === 2) cpSync(folder, earlier, { recursive: true });
  };
  expect((await Ledger.open(disk, earlier)).loss).toBeNull();
  expect(reads).toBe(2);
});

describe("a license key", () => {
  test("is refused for a second appliance, also with --license-id", async () => {
    const { desk, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    unwrap(await other.vendorTrust.trustVendor(desk.trust.document, "test"));
    const first = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"));
    const otherRequest = await makeRequestFrom(other, "sim", "K-1");
    expect(issueTestLicense(desk, otherRequest)).rejects.toThrow("another appliance has");
    const withId = issueTestLicense(desk, otherRequest, { licenseId: first.license_id });
    expect(withId).rejects.toThrow("belongs to another appliance");
    expect((await issueTestLicense(desk, otherRequest, { isNew: true })).serial).toBe(1);
  });
});

describe("a license key confirmed by code", () => {
  test("is refused for a second appliance while the first still has its license", async () => {
    const { desk, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    const policy = await createPolicy(desk, "basic", { product: "sim", valid_until: null }, MONDAY);
    const confirmFor = async (appliance: Appliance, serial: number | null = null) =>
      confirmActivation(desk, {
        ...USUAL_CONFIRMATION,
        policy,
        licenseKey: "K-1",
        activationCode: unwrap(
          await appliance.services.airgap.createActivationCode("K-1", "", "test"),
        ).code,
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

  test("can be returned by two appliances with the same serial", async () => {
    const { desk, site } = await openDeskAndSite();
    const others = [await openAppliance({ licenses: {} }), await openAppliance({ licenses: {} })];
    const policy = await createPolicy(desk, "basic", { product: "sim", valid_until: null }, MONDAY);
    const trust = desk.trust.document;
    const confirmFor = async ({ services }: Appliance, serial: number | null) => {
      const activationCode = unwrap(
        await services.airgap.createActivationCode("K-1", "", "test"),
      ).code;
      const codes = { ...USUAL_CONFIRMATION, policy, licenseKey: "K-1", activationCode };
      const options = { serial, allowWeakBinding: true, now: MONDAY };
      const { confirmation_code: code } = await confirmActivation(desk, { ...codes, ...options });
      const request = { policy, licenseKey: "K-1", policyId: null, code, peer: "test" };
      return unwrap(await services.airgap.installLicense(request)).id;
    };
    for (const appliance of [site, ...others.slice(0, 1)]) {
      unwrap(await appliance.vendorTrust.trustVendor(trust, "test"));
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
    unwrap(await last.vendorTrust.trustVendor(trust, "test"));
    await confirmFor(last, null);
    expect(desk.ledger.issuedEntries()[0]?.serial).toBe(2);
  });

  test.each(["K-1\u200b", "K-1 ", "\u202eK-1"])(
    "%j is refused because of invisible characters or spaces",
    async (licenseKey) => {
      const { desk, site } = await openDeskAndSite();
      const policy = await createPolicy(
        desk,
        "basic",
        { product: "sim", valid_until: null },
        MONDAY,
      );
      const { code } = unwrap(await site.services.airgap.createActivationCode("K-1", "", "test"));
      const attempt = confirmActivation(desk, {
        ...USUAL_CONFIRMATION,
        policy,
        licenseKey,
        activationCode: code,
        allowWeakBinding: true,
        now: MONDAY,
      });
      expect(attempt).rejects.toThrow("invisible characters");
      expect(desk.ledger.issuedEntries()).toEqual([]);
    },
  );
});

describe("receiveReceipt", () => {
  test("refuses a receipt for an older serial than the newest answer, which the site refuses too", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    unwrap(await site.licensing.installLicense(first.document, "test"));
    const second = await issueTestLicense(desk, await makeRequestFrom(site));
    expect([first.serial, second.serial]).toEqual([1, 2]);
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    expect(receiveReceipt(desk, receipt, MONDAY)).rejects.toThrow(
      "the newest serial of this license is 2",
    );
    const outcome = await site.licensing.installLicense(second.document, "test");
    expect(outcome).toMatchObject({ ok: false, fault: { code: "request_unknown" } });
  });
});
