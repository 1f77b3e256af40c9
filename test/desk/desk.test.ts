import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { keyIdOf } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { DeskRefused } from "../../src/desk/desk-refused.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

const make = (folder: string, passphrase: string | null) =>
  Desk.create(realDisk, folder, { name: "Penetrode", products: ["sim"], passphrase });

async function refusal(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof DeskRefused) return `${error.message}; ${error.hint}`;
    throw error;
  }
  throw new Error("it was not refused");
}

test("a desk is a key for its owner alone and a trust document to hand out", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await make(folder, null);
  expect(readdirSync(folder).toSorted()).toEqual(["ledger.jsonl", "trust.jwt", "vendor.jwk"]);
  expect(modeOf(join(folder, "vendor.jwk"))).toBe("600");
  expect(desk.vendor).toMatchObject({ vendor: keyIdOf(desk.key), version: 1, products: ["sim"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.vendor, opened.key]).toEqual([desk.vendor, desk.key]);
});

test("a desk is not made over another", async () => {
  for (const passphrase of [null, "correct horse"]) {
    const folder = join(tempFolder(), "desk");
    await make(folder, passphrase);
    expect(await refusal(make(folder, null))).toContain("is already a desk");
  }
});

test("a key under a passphrase opens with it and with no other, and is nowhere in the clear", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await make(folder, "correct horse");
  expect(readdirSync(folder).toSorted()).toEqual(["ledger.jsonl", "trust.jwt", "vendor.jwe"]);
  const locked = readFileSync(join(folder, "vendor.jwe"), "utf8");
  expect(locked).not.toContain(desk.key.d);
  expect(decodeProtectedHeader(locked)["p2c"]).toBeGreaterThanOrEqual(600_000);
  const opened = await Desk.open(realDisk, folder, "correct horse");
  expect(opened.key).toEqual(desk.key);
  expect(await refusal(Desk.open(realDisk, folder, "wrong horse"))).toContain("is wrong");
  expect(await refusal(Desk.open(realDisk, folder, ""))).toContain("is wrong");
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("--passphrase-file");
});

test("what is no desk, or has lost its key, is refused", async () => {
  const folder = tempFolder();
  expect(await refusal(Desk.open(realDisk, folder, null))).toContain("is not a desk");
  const [one, other] = [join(folder, "one"), join(folder, "other")];
  await make(one, null);
  await make(other, null);
  const key = join(one, "vendor.jwk");
  writeFileSync(key, readFileSync(join(other, "vendor.jwk")));
  expect(await refusal(Desk.open(realDisk, one, null))).toContain("not in its trust document");
  writeFileSync(key, "{}");
  expect(await refusal(Desk.open(realDisk, one, null))).toContain("damaged");
  writeFileSync(key, "not json");
  expect(await refusal(Desk.open(realDisk, one, null))).toContain("damaged");
  realDisk.remove(key);
  expect(await refusal(Desk.open(realDisk, one, null))).toContain("missing");
});

test("more products are a trust document of the next version; the same ones are not", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  expect(await desk.addProducts(realDisk, folder, ["sim"])).toBe(desk);
  const wider = await desk.addProducts(realDisk, folder, ["sim", "fea"]);
  expect(wider.vendor).toMatchObject({ version: 2, products: ["sim", "ray", "fea"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.vendor).toEqual(wider.vendor);
  const { terms } = await issueTestLicense(opened, await makeRequestFrom(site, "fea"));
  expect(terms.product).toBe("fea");
});
