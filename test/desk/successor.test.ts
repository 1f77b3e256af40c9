import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { verifyTrustDocument } from "../../src/license/documents/trust.ts";
import { unwrap } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

const read = (folder: string, file: string): string =>
  readFileSync(join(folder, file), "utf8").trim();

test("a successor document is accepted only by a site that knows the key before it", async () => {
  const folder = join(tempFolder(), "desk");
  const original = await Desk.create(realDisk, folder, {
    name: "Acme",
    products: ["cad"],
    passphrase: null,
  });
  const second = await original.rotateKey(realDisk, folder, null);
  const third = await second.rotateKey(realDisk, folder, null);
  expect(third.vendor).toMatchObject({ vendor: original.vendor.vendor, version: 3 });
  expect(third.vendor.keys.map(keyIdOf)).toEqual(
    [third.key, second.key, original.key].map(keyIdOf),
  );

  const first = unwrap(await verifyTrustDocument(read(folder, "trust.jwt"), () => null));
  expect(first).toEqual(original.vendor);
  const next = read(folder, "successor-2.jwt");
  expect((await verifyTrustDocument(next, () => null)).ok).toBe(false);
  const updated = unwrap(await verifyTrustDocument(next, () => first));
  expect(updated).toEqual(second.vendor);
  const last = read(folder, "successor-3.jwt");
  expect((await verifyTrustDocument(last, () => first)).ok).toBe(false);
  expect(unwrap(await verifyTrustDocument(last, () => updated))).toEqual(third.vendor);

  const opened = await Desk.open(realDisk, folder, null);
  expect([opened.key, opened.vendor]).toEqual([third.key, third.vendor]);
  expect(read(folder, `${keyIdOf(original.key)}.vendor.jwk`)).toContain(original.key.d);
});
