import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { verifyTrustDocument } from "../../src/license/trust.ts";
import { unwrap } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

const read = (folder: string, file: string): string =>
  readFileSync(join(folder, file), "utf8").trim();

test("a successor is taken by sites that know the old key; a new site takes one after the other", async () => {
  const folder = join(tempFolder(), "desk");
  const made = await Desk.create(realDisk, folder, {
    name: "Acme",
    products: ["cad"],
    passphrase: null,
  });
  const second = await made.rotateKey(realDisk, folder, null);
  const third = await second.rotateKey(realDisk, folder, null);
  expect(third.vendor).toMatchObject({ vendor: made.vendor.vendor, version: 3 });
  expect(third.vendor.keys.map(keyIdOf)).toEqual([third.key, second.key, made.key].map(keyIdOf));

  const first = unwrap(await verifyTrustDocument(read(folder, "trust.jwt"), () => null));
  expect(first).toEqual(made.vendor);
  const next = read(folder, "successor-2.jwt");
  expect((await verifyTrustDocument(next, () => null)).ok).toBe(false);
  const known = unwrap(await verifyTrustDocument(next, () => first));
  expect(known).toEqual(second.vendor);
  const last = read(folder, "successor-3.jwt");
  expect((await verifyTrustDocument(last, () => first)).ok).toBe(false);
  expect(unwrap(await verifyTrustDocument(last, () => known))).toEqual(third.vendor);

  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.key, opened.vendor]).toEqual([third.key, third.vendor]);
  expect(read(folder, `${keyIdOf(made.key)}.vendor.jwk`)).toContain(made.key.d);
});
