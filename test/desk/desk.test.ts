import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk, usualRootFolder } from "../../src/desk/desk.ts";
import { Root } from "../../src/desk/root.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { keyFileIn, openRootOf, signNextTrust } from "../support/desk-keys.ts";
import { encryptDeskKeys } from "../support/encrypted-key.ts";
import { unwrap } from "../support/licensed-store.ts";
import { contentsOf, modeOf, tempFolder } from "../support/temp-folder.ts";
import { refusal } from "../support/desk-refusal.ts";

const createDesk = (folder: string, passphrase: string | null) =>
  Desk.create(realDisk, folder, { name: "Penetrode", products: ["sim"], passphrase });

test("a new vendor has a root in a folder of its own, and a desk with a certified key", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, null);
  const id = keyIdOf(desk.issuing.key);
  const key = `${id}.key.jwk`;
  expect(readdirSync(folder).toSorted()).toEqual(
    [key, "ledger.head", "ledger.jsonl", "trust.jwt"].toSorted(),
  );
  const root = usualRootFolder(folder);
  expect(readdirSync(root).toSorted()).toEqual([`${id}.cert`, "root.jwk", "trust.jwt"].toSorted());
  expect([modeOf(join(folder, key)), modeOf(join(root, "root.jwk"))]).toEqual(["600", "600"]);
  const { vendor } = desk;
  expect(vendor).toMatchObject({ version: 1, products: ["sim"], retired: [] });
  expect([vendor.vendor, vendor.vendor === id]).toEqual([keyIdOf(vendor.jwk), false]);
  expect(desk.keys).toMatchObject([{ id, cert: desk.issuing.cert, certificate: { trust: 1 } }]);
  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.vendor, opened.issuing]).toEqual([vendor, desk.issuing]);
});

test("creating a desk in the folder of another desk is refused, and makes no root", async () => {
  for (const passphrase of [null, "correct horse"]) {
    const folder = join(tempFolder(), "desk");
    await createDesk(folder, null);
    if (passphrase !== null) await encryptDeskKeys(folder, passphrase);
    const other = join(tempFolder(), "root");
    const options = { name: "Other", products: ["sim"], passphrase: null };
    const attempt = Desk.create(realDisk, folder, options, other);
    expect(await refusal(attempt)).toContain("is already a desk");
    expect(realDisk.stat(other)).toBeNull();
  }
});

test("a root has a second desk with a key of its own, whose licenses its sites accept", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const root = await openRootOf(folder);
  const second = await Desk.createFor(realDisk, join(tempFolder(), "desk2"), root, null);
  expect(second.trust).toEqual(desk.trust);
  expect(second.issuing.key.x).not.toBe(desk.issuing.key.x);
  for (const [from, product] of [
    [desk, "sim"],
    [second, "ray"],
  ] as const) {
    const { document } = await issueTestLicense(from, await makeRequestFrom(site, product));
    unwrap(await site.licensing.installLicense(document, "test"));
  }
});

test("a key with a passphrase opens with that passphrase and is stored encrypted", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, "correct horse");
  const path = keyFileIn(folder);
  expect(basename(path)).toBe(`${keyIdOf(desk.issuing.key)}.key.jwe`);
  const locked = readFileSync(path, "utf8");
  expect(locked).not.toContain(desk.issuing.key.d);
  expect(decodeProtectedHeader(locked)["p2c"]).toBeGreaterThanOrEqual(600_000);
  const opened = await Desk.open(realDisk, folder, "correct horse");
  expect(opened.issuing).toEqual(desk.issuing);
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("--passphrase-file");
});

test("a key with a passphrase opens with no other passphrase", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, null);
  await encryptDeskKeys(folder, "correct horse");
  expect((await Desk.open(realDisk, folder, "correct horse")).issuing).toEqual(desk.issuing);
  expect(await refusal(Desk.open(realDisk, folder, "wrong horse"))).toContain("is wrong");
  expect(await refusal(Desk.open(realDisk, folder, ""))).toContain("is wrong");
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("--passphrase-file");
});

test("opening a folder that is not a desk, or whose key is wrong or missing, is refused", async () => {
  const folder = tempFolder();
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("is not a desk");
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  await createDesk(first, null);
  await createDesk(second, null);
  const key = keyFileIn(first);
  writeFileSync(key, readFileSync(keyFileIn(second)));
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("contains another key");
  writeFileSync(key, "{}");
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("damaged");
  writeFileSync(key, "not json");
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("damaged");
  realDisk.remove(key);
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("missing");
});

test("the root adds a product with the next trust document, which the desk then licenses", async () => {
  const { folder, site } = await openDeskAndSite();
  const { trust } = await signNextTrust(folder, { products: ["sim", "ray", "fea"] });
  expect(trust.vendor).toMatchObject({ version: 2, products: ["sim", "ray", "fea"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.vendor, opened.trust.document]).toEqual([trust.vendor, trust.document]);
  unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
  const { terms, document } = await issueTestLicense(opened, await makeRequestFrom(site, "fea"));
  expect(terms.product).toBe("fea");
  unwrap(await site.licensing.installLicense(document, "test"));
});

test.each(["root.jwk", "root.jwe"])(
  "a desk with %s in its folder is refused, and so is a new one there",
  async (file) => {
    const folder = join(tempFolder(), "desk");
    await createDesk(folder, null);
    const root = readFileSync(join(usualRootFolder(folder), "root.jwk"));
    writeFileSync(join(folder, file), root);
    expect(await refusal(Desk.open(realDisk, folder, null))).toContain("must not be in the desk's");
    const before = contentsOf(usualRootFolder(folder));
    const opened = await openRootOf(folder);
    const attempt = Desk.createFor(realDisk, usualRootFolder(folder), opened, null);
    expect(await refusal(attempt)).toContain("is the vendor's root key");
    expect(contentsOf(usualRootFolder(folder))).toEqual(before);
  },
);

test("a root anywhere inside a desk's folder is neither opened nor made", async () => {
  const folder = join(tempFolder(), "desk");
  await createDesk(folder, null);
  for (const inside of [folder, join(folder, "root"), join(folder, "a", "b")]) {
    expect(await refusal(Root.open(realDisk, inside, null))).toContain("the folder of a desk");
    const vendor = { name: "Acme", products: ["CAD"], passphrase: null };
    expect(await refusal(Root.create(realDisk, inside, vendor))).toContain("--root DIR");
  }
  expect(readdirSync(folder)).toHaveLength(4);
});
