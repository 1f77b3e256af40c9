// A command that is killed between two of its changes to the disk: the next one goes on, and nothing
// is signed without a line in the ledger.
import { expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { backUpDesk } from "../../src/desk/desk-backup.ts";
import { restoreDesk } from "../../src/desk/desk-restore.ts";
import { Desk, usualPeriod, usualRootFolder } from "../../src/desk/desk.ts";
import { Root } from "../../src/desk/root.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { verifyKeyRequest } from "../../src/license/documents/key-request.ts";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { realDisk, type Disk } from "../../src/platform/files/disk.ts";
import { openRootOf, replaceKey } from "../support/desk-keys.ts";
import { interruptEverywhere } from "../support/interrupted-disk.ts";
import { unwrap } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

const NEW_DESK = { name: "Acme", products: ["cad"], passphrase: null };

const open = (folder: string) => Desk.open(realDisk, folder, null);

const newFolder = () => Promise.resolve(join(tempFolder(), "desk"));

/** A copy of one desk and its root, with whatever was prepared in it. */
async function copies(prepare: (folder: string) => Promise<void>): Promise<() => Promise<string>> {
  const original = join(tempFolder(), "desk");
  await Desk.create(realDisk, original, NEW_DESK);
  await prepare(original);
  return async () => {
    const folder = await newFolder();
    cpSync(original, folder, { recursive: true });
    cpSync(usualRootFolder(original), usualRootFolder(folder), { recursive: true });
    return folder;
  };
}

/** Every file of a desk is whole, and the ledger has a line for the key and the trust document. */
async function expectIntact(folder: string): Promise<void> {
  const { faults, notes } = await verifyDesk(realDisk, folder, null);
  expect([faults, notes.filter((note) => note.includes("lost"))]).toEqual([[], []]);
}

test("berth vendor init: the root, once it is there, gets its desk from the next command", async () => {
  const attempts = await interruptEverywhere(
    newFolder,
    (disk, folder) => Desk.create(disk, folder, NEW_DESK),
    async (folder, isFinished) => {
      const hasRoot = Root.exists(realDisk, usualRootFolder(folder));
      const isDesk = realDisk.stat(join(folder, "ledger.jsonl")) !== null;
      if (isFinished) expect([hasRoot, isDesk]).toEqual([true, true]);
      // There is no half of a desk: it has its key, or it is none.
      if (!hasRoot) await Desk.create(realDisk, folder, NEW_DESK);
      else if (!isDesk) await Desk.createFor(realDisk, folder, await openRootOf(folder), null);
      const { issuing, vendor } = await open(folder);
      expect([vendor.version, issuing.key.x === vendor.jwk.x]).toEqual([1, false]);
      await expectIntact(folder);
    },
  );
  expect(attempts).toBeGreaterThan(20);
});

test("berth vendor key new: the desk signs with the key before, and another key can be made", async () => {
  const makeCopy = await copies(() => Promise.resolve());
  const attempts = await interruptEverywhere(
    makeCopy,
    (disk, folder) => Desk.makeKey(disk, folder, null),
    async (folder) => {
      const before = await open(folder);
      expect(before.keys).toHaveLength(1);
      const { id } = await replaceKey(folder);
      expect(keyIdOf((await open(folder)).issuing.key)).toBe(id);
      await expectIntact(folder);
    },
  );
  expect(attempts).toBeGreaterThan(3);
});

test("berth vendor accept: a certificate is in the ledger or not accepted, and is accepted again", async () => {
  let cert = "";
  const makeCopy = await copies(async (folder) => {
    const { request } = await Desk.makeKey(realDisk, folder, null);
    const { jwk } = unwrap(await verifyKeyRequest(request));
    cert = await (await openRootOf(folder)).certify(jwk, usualPeriod());
  });
  const attempts = await interruptEverywhere(
    makeCopy,
    (disk, folder) => Desk.acceptCertificate(disk, folder, cert),
    async (folder) => {
      const { issuing } = await open(folder);
      expect(ledgerOf(folder).includes(issuing.cert)).toBe(true);
      await Desk.acceptCertificate(realDisk, folder, cert);
      expect((await open(folder)).issuing.cert).toBe(cert);
      expect(ledgerOf(folder).split(cert)).toHaveLength(2);
      await expectIntact(folder);
    },
  );
  expect(attempts).toBeGreaterThan(3);
});

test("berth vendor accept: a trust document is in the ledger before its file is replaced", async () => {
  const signed: Root[] = [];
  const makeCopy = await copies(async (folder) => {
    signed.push(await (await openRootOf(folder)).signNext({ products: ["cad", "cam"] }));
  });
  const acceptOn = async (disk: Disk, folder: string) => {
    for (const { trust } of signed) await Desk.acceptTrust(disk, folder, trust);
  };
  const attempts = await interruptEverywhere(makeCopy, acceptOn, async (folder) => {
    const file = readFileSync(join(folder, "trust.jwt"), "utf8").trim();
    expect(ledgerOf(folder).includes(file)).toBe(true);
    await acceptOn(realDisk, folder);
    const { vendor } = await open(folder);
    expect(vendor.products).toEqual(["cad", "cam"]);
    const after = readFileSync(join(folder, "trust.jwt"), "utf8").trim();
    expect(signed.map(({ trust }) => trust.document)).toEqual([after]);
    await expectIntact(folder);
  });
  expect(attempts).toBeGreaterThan(7);
});

test("the root signs the next version: its folder has the old or the new document, and no third", async () => {
  const makeCopy = await copies(() => Promise.resolve());
  await interruptEverywhere(
    makeCopy,
    async (disk, folder) => {
      const root = await Root.open(disk, usualRootFolder(folder), null);
      await root.signNext({ name: "Acme Ltd" });
    },
    async (folder, isFinished) => {
      const { trust } = await openRootOf(folder);
      if (isFinished) expect(trust.vendor).toMatchObject({ version: 2, name: "Acme Ltd" });
      expect([1, 2]).toContain(trust.vendor.version);
      const again = await (await openRootOf(folder)).signNext({ name: "Acme Ltd" });
      expect(again.trust.vendor.version).toBe(trust.vendor.version + 1);
      expect(readdirSync(usualRootFolder(folder)).filter((name) => name.endsWith(".jwk"))).toEqual([
        "root.jwk",
      ]);
    },
  );
});

test("a ledger that ends in an interrupted write is cut, and the rest kept, whenever that is interrupted", async () => {
  const makeCopy = await copies((folder) => {
    appendFileSync(join(folder, "ledger.jsonl"), '{"type":"iss');
    return Promise.resolve();
  });
  const whole = ledgerOf(await makeCopy()).replace('{"type":"iss', "");
  const attempts = await interruptEverywhere(
    makeCopy,
    (disk, folder) => Desk.open(disk, folder, null),
    async (folder) => {
      await open(folder);
      expect(ledgerOf(folder)).toBe(whole);
      const torn = join(folder, `ledger.jsonl.${Buffer.byteLength(whole)}.torn`);
      expect(readFileSync(torn, "utf8")).toBe('{"type":"iss');
      await expectIntact(folder);
    },
  );
  expect(attempts).toBeGreaterThan(6);
});

test("berth vendor restore: the folder has the whole desk, or the next restore makes it", async () => {
  const makeCopy = await copies((folder) => {
    mkdirSync(join(folder, "presets"));
    writeFileSync(join(folder, "presets", "CAD.json"), "{}");
    return Promise.resolve();
  });
  const folder = await makeCopy();
  const file = join(tempFolder(), "desk.backup");
  await backUpDesk(realDisk, folder, "2026-03-02T00:00:00Z", (text) => appendFileSync(file, text));
  const attempts = await interruptEverywhere(
    newFolder,
    (disk, back) => restoreDesk(disk, back, file),
    async (back, isFinished) => {
      const isThere = realDisk.stat(back) !== null;
      if (isFinished) expect(isThere).toBe(true);
      if (!isThere) await restoreDesk(realDisk, back, file);
      await expectIntact(back);
      expect(readdirSync(back).toSorted()).toEqual(
        readdirSync(folder)
          .filter((name) => !name.endsWith(".lock"))
          .toSorted(),
      );
      expect(readFileSync(join(back, "presets", "CAD.json"), "utf8")).toBe("{}");
    },
  );
  expect(attempts).toBeGreaterThan(15);
});

const ledgerOf = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");
