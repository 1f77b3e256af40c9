import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { idOf } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/vendor/desk.ts";
import { verifyTrust } from "../../src/license/trust.ts";
import { granted } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

const read = (folder: string, file: string): string =>
  readFileSync(join(folder, file), "utf8").trim();

test("a successor is taken by sites that know the old key, and by new sites under the new one", async () => {
  const folder = join(tempFolder(), "desk");
  const made = await Desk.make(realDisk, folder, {
    name: "Acme",
    products: ["cad"],
    passphrase: null,
  });
  const after = await made.succeed(realDisk, folder, null);
  expect(after.key.x).not.toBe(made.key.x);
  expect(after.vendor).toMatchObject({ vendor: made.vendor.vendor, version: 2 });
  expect(after.vendor.keys.map(idOf)).toEqual([idOf(after.key), idOf(made.key)]);

  const successor = read(folder, "successor.jwt");
  expect(granted(await verifyTrust(successor, () => made.vendor))).toEqual(after.vendor);
  expect((await verifyTrust(successor, () => null)).ok).toBe(false);
  expect(granted(await verifyTrust(read(folder, "trust.jwt"), () => null))).toEqual(after.vendor);
  expect((await verifyTrust(read(folder, "trust.jwt"), () => made.vendor)).ok).toBe(false);

  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.key).toEqual(after.key);
  expect(read(folder, `${idOf(made.key)}.vendor.jwk`)).toContain(made.key.d);
});
