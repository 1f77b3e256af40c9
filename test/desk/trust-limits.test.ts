// A trust document that no site can read must never be signed.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk, usualRootFolder } from "../../src/desk/desk.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { encodeCrockford } from "../../src/license/codes/code.ts";
import { openAppliance } from "../support/appliance.ts";
import { openRootOf, replaceKey, signNextTrust } from "../support/desk-keys.ts";
import { runBerth } from "../support/run-berth.ts";
import { unwrap } from "../support/licensed-store.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";
import { refusal } from "../support/desk-refusal.ts";

const makeDesk = (folder: string, products = ["CAD"]) =>
  Desk.create(realDisk, folder, { name: "Acme", products, passphrase: null });

const makeKeyId = (number: number): string =>
  encodeCrockford(Buffer.from(String(number).padStart(10, "0")), 80);

test("a trust document can retire 256 keys, which a site accepts, and the 257th is refused", async () => {
  const folder = join(tempFolder(), "desk");
  await makeDesk(folder);
  const retired = Array.from({ length: 256 }, (_, index) => makeKeyId(index));
  const { trust } = await signNextTrust(folder, { retired });
  const site = await openAppliance({ licenses: {} });
  unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
  const before = [contentsOf(folder), contentsOf(usualRootFolder(folder))];
  const root = await openRootOf(folder);
  const attempt = root.signNext({ retired: [...retired, makeKeyId(256)] });
  expect(await refusal(attempt)).toContain("at most 256 keys");
  const words = ["vendor", "key", "retire", makeKeyId(256), "--root", usualRootFolder(folder)];
  const result = await runBerth([...words, "--dir", folder, "--yes"]);
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("at most 256 keys")]);
  expect([contentsOf(folder), contentsOf(usualRootFolder(folder))]).toEqual(before);
  expect(await verifyDesk(realDisk, folder, null)).toMatchObject({ key: "ok", faults: [] });
});

test("a desk can replace its key as often as it wants: the trust document stays as it is", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await makeDesk(folder);
  for (let number = 0; number < 10; number += 1) await replaceKey(folder);
  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.keys.length, opened.trust]).toEqual([11, desk.trust]);
  expect(await verifyDesk(realDisk, folder, null)).toMatchObject({ key: "ok", faults: [] });
});

const makeCodes = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(length, "P"));

test.each<[description: string, products: string[], message: string]>([
  ["1,001 products", makeCodes(1_001, 4), "at most 1000 products"],
  ["more product codes than 48 KiB hold", makeCodes(400, 200), "is too large"],
  ["a product code of 257 characters", makeCodes(1, 257), "256 characters"],
  [
    "a line feed in a product code",
    ["CAD", "CA\nD"],
    "a line break or another invisible character",
  ],
])("a vendor with %s is refused, by vendor init and by the root", async (_, products, message) => {
  const place = tempFolder();
  expect(await refusal(makeDesk(join(place, "new"), products))).toContain(message);
  const flags = products.flatMap((code) => ["--product", code]);
  const init = ["vendor", "init", "--dir", join(place, "init"), "--name", "A", "--no-passphrase"];
  const result = await runBerth([...init, ...flags]);
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(message)]);
  for (const name of ["new", "new-root", "init", "init-root"])
    expect(realDisk.stat(join(place, name))).toBeNull();
  const folder = join(place, "desk");
  await makeDesk(folder);
  const before = contentsOf(usualRootFolder(folder));
  const attempt = (await openRootOf(folder)).signNext({ products });
  expect(await refusal(attempt)).toContain(message);
  expect(contentsOf(usualRootFolder(folder))).toEqual(before);
});

test("a vendor with a line break in its name is refused, and no folder is left", async () => {
  const place = tempFolder();
  const init = ["vendor", "init", "--dir", join(place, "desk"), "--no-passphrase"];
  const result = await runBerth([...init, "--product", "CAD", "--name", "Acme\nInitrode"]);
  const message = "a name or a product code contains a line break or another invisible character";
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(message)]);
  for (const name of ["desk", "desk-root"]) expect(realDisk.stat(join(place, name))).toBeNull();
});

test("berth vendor name refuses a name of 257 characters with the limit", async () => {
  const folder = join(tempFolder(), "desk");
  await makeDesk(folder);
  const root = ["--root", usualRootFolder(folder)];
  const result = await runBerth(["vendor", "name", "A".repeat(257), ...root]);
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("256 characters")]);
});
