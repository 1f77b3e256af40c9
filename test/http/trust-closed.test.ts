import { expect, test } from "bun:test";
import { join } from "node:path";
import { signTrustDocument } from "../../src/license/trust.ts";
import { Licensing } from "../../src/operations/licensing.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { openSite } from "../support/licensed-store.ts";
import { openAppliance } from "../support/appliance.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("a vendor's own build trusts that vendor, and nobody else, and never stops", async () => {
  const desk = (name: string) =>
    Desk.create(realDisk, join(tempFolder(), name), { name, products: [name], passphrase: null });
  const [own, other] = [await desk("own"), await desk("other")];
  const [baked, foreign] = [
    await signTrustDocument(own.vendor, own.key),
    await signTrustDocument(other.vendor, other.key),
  ];
  const { identity, credentials } = (await openAppliance()).services;
  const licensing = new Licensing((await openSite()).store, identity, credentials, baked);

  const closed = { ok: false, fault: { code: "trust_locked" } };
  expect(await licensing.previewTrustDocument(foreign)).toMatchObject(closed);
  expect(await licensing.trustVendor(foreign, "rig")).toMatchObject(closed);
  expect(await licensing.trustVendor(baked, "rig")).toMatchObject({ ok: true });
  expect(await licensing.distrustVendor(own.vendor.vendor, "rig")).toMatchObject(closed);
});
