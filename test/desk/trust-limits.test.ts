// A trust document that no site can read must never be signed.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { openAppliance } from "../support/appliance.ts";
import { runBerth } from "../support/run-berth.ts";
import { unwrap } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { refusal } from "../support/desk-refusal.ts";

const makeDesk = (folder: string, products = ["CAD"]) =>
  Desk.create(realDisk, folder, { name: "Acme", products, passphrase: null });

const readFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.endsWith(".lock"))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );

test("a desk can have 64 keys, which a site accepts one by one, and refuses the 65th", async () => {
  const folder = join(tempFolder(), "desk");
  let desk = await makeDesk(folder);
  const site = await openAppliance({ licenses: {} });
  const trust = (file: string) =>
    site.vendorTrust.trustVendor(readFileSync(join(folder, file), "utf8").trim(), "test");
  unwrap(await trust("trust.jwt"));
  for (let version = 2; version <= 64; version += 1) {
    desk = await desk.rotateKey(realDisk, folder, null, { from: null });
    unwrap(await trust(`successor-${version}.jwt`));
  }
  const before = readFiles(folder);
  expect(await refusal(desk.rotateKey(realDisk, folder, null))).toContain("at most 64 keys");
  const result = await runBerth(["vendor", "successor", "--dir", folder, "--no-passphrase"]);
  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("at most 64 keys")]);
  expect(readFiles(folder)).toEqual(before);
  expect((await Desk.open(realDisk, folder, null)).vendor.keys).toHaveLength(64);
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
])(
  "a desk with %s is refused, by vendor init and by adding products",
  async (_, products, message) => {
    const root = tempFolder();
    expect(await refusal(makeDesk(join(root, "new"), products))).toContain(message);
    const flags = products.flatMap((code) => ["--product", code]);
    const init = ["vendor", "init", "--dir", join(root, "init"), "--name", "A", "--no-passphrase"];
    const result = await runBerth([...init, ...flags]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(message)]);
    const folder = join(root, "desk");
    const desk = await makeDesk(folder);
    const before = readFiles(folder);
    expect(await refusal(desk.addProducts(realDisk, folder, products))).toContain(message);
    expect(readFiles(folder)).toEqual(before);
  },
);
