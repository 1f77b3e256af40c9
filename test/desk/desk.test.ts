import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { encryptDeskKeys } from "../support/encrypted-key.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";
import { refusal } from "../support/desk-refusal.ts";

const createDesk = (folder: string, passphrase: string | null) =>
  Desk.create(realDisk, folder, { name: "Penetrode", products: ["sim"], passphrase });

test("a new desk has a key file with mode 600, a trust document and a ledger", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, null);
  expect(readdirSync(folder).toSorted()).toEqual([
    "ledger.head",
    "ledger.jsonl",
    "trust.jwt",
    "vendor.jwk",
  ]);
  expect(modeOf(join(folder, "vendor.jwk"))).toBe("600");
  expect(desk.vendor).toMatchObject({ vendor: keyIdOf(desk.key), version: 1, products: ["sim"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.vendor, opened.key]).toEqual([desk.vendor, desk.key]);
});

test("creating a desk in the folder of another desk is refused", async () => {
  for (const passphrase of [null, "correct horse"]) {
    const folder = join(tempFolder(), "desk");
    await createDesk(folder, null);
    if (passphrase !== null) await encryptDeskKeys(folder, passphrase);
    expect(await refusal(createDesk(folder, null))).toContain("is already a desk");
  }
});

test("a key with a passphrase opens with that passphrase and is stored encrypted", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, "correct horse");
  expect(readdirSync(folder).toSorted()).toEqual([
    "ledger.head",
    "ledger.jsonl",
    "trust.jwt",
    "vendor.jwe",
  ]);
  const locked = readFileSync(join(folder, "vendor.jwe"), "utf8");
  expect(locked).not.toContain(desk.key.d);
  expect(decodeProtectedHeader(locked)["p2c"]).toBeGreaterThanOrEqual(600_000);
  const opened = await Desk.open(realDisk, folder, "correct horse");
  expect(opened.key).toEqual(desk.key);
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("--passphrase-file");
});

test("a key with a passphrase opens with no other passphrase", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await createDesk(folder, null);
  await encryptDeskKeys(folder, "correct horse");
  expect((await Desk.open(realDisk, folder, "correct horse")).key).toEqual(desk.key);
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
  const key = join(first, "vendor.jwk");
  writeFileSync(key, readFileSync(join(second, "vendor.jwk")));
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("not in its trust document");
  writeFileSync(key, "{}");
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("damaged");
  writeFileSync(key, "not json");
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("damaged");
  realDisk.remove(key);
  expect(await refusal(Desk.open(realDisk, first, null))).toContain("missing");
});

test("adding new products signs the next trust document; adding known ones changes nothing", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  expect(await desk.addProducts(realDisk, folder, ["sim"])).toBe(desk);
  const wider = await desk.addProducts(realDisk, folder, ["sim", "fea"]);
  expect(wider.vendor).toMatchObject({ version: 2, products: ["sim", "ray", "fea"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.vendor).toEqual(wider.vendor);
  const { terms } = await issueTestLicense(opened, await makeRequestFrom(site, "fea"));
  expect(terms.product).toBe("fea");
});
