// Desks that Berth 0.1.0 wrote: one with a plain key, one with an encrypted key and a successor.
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { instant } from "../../src/domain/time.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { describeDesk } from "../../src/desk/desk-overview.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { tempFolder } from "../support/temp-folder.ts";
import desks from "../vectors/desks-0.1.0.json";

function unpack(files: Readonly<Record<string, string>>): string {
  const folder = join(tempFolder(), "desk");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe.each<[description: string, files: Record<string, string>, passphrase: string | null]>([
  ["a plain key", desks.plain, null],
  ["an encrypted key and a successor", desks.locked, "correct horse"],
])("a desk of version 0.1.0 with %s", (_description, files, passphrase) => {
  test("opens with its current key, and no file is renamed", async () => {
    const folder = unpack(files);
    const { vendor, key } = await Desk.open(realDisk, folder, passphrase);
    expect(vendor.keys.map(keyIdOf)[0]).toBe(keyIdOf(key));
    expect(readdirSync(folder).toSorted()).toEqual(Object.keys(files).toSorted());
  });

  test("can be shown and verified", async () => {
    const folder = unpack(files);
    const shown = await describeDesk(realDisk, folder, instant(0));
    expect(shown).toMatchObject({
      name: "Acme",
      encrypted: passphrase !== null,
      products: ["CAD"],
    });
    const verified = await verifyDesk(realDisk, folder, passphrase);
    expect(verified).toMatchObject({ key: "ok", faults: [] });
  });

  test("accepts a new passphrase, a product and a successor that retires its keys", async () => {
    const folder = unpack(files);
    await Desk.changePassphrase(realDisk, folder, passphrase, null);
    const opened = await Desk.open(realDisk, folder, null);
    const wider = await opened.addProducts(realDisk, folder, ["CAM"]);
    const next = await wider.rotateKey(realDisk, folder, null, { from: null });
    const reopened = await Desk.open(realDisk, folder, null);
    expect(reopened.vendor).toEqual(next.vendor);
    expect(reopened.vendor.retired).toHaveLength(opened.vendor.keys.length);
  });
});
