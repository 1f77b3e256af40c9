import { expect, test } from "bun:test";
import { join } from "node:path";
import { VendorTrust } from "../../../../src/operations/trust/vendor-trust.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { Root } from "../../../../src/desk/root.ts";
import { Desk, usualRootFolder } from "../../../../src/desk/desk.ts";
import { openSite, unwrap } from "../../../support/licensed-store.ts";
import { openHost } from "../../../support/licensed-pair.ts";
import { SimulatedLog } from "../../../support/simulated-log.ts";
import { genesisHead } from "../../../../src/store/journal/journal.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

test("a host of a pair trusts the built-in vendor when it begins to lead", async () => {
  const options = { name: "built-in", products: ["cad"], passphrase: null };
  const desk = await Desk.create(realDisk, join(tempFolder(), "desk"), options);
  const builtInTrust = desk.trust.document;
  const log = new SimulatedLog(genesisHead);
  const { store, operations } = await openHost({ log, host: "alpha", builtInTrust });
  const countVendors = (): number => store.peek(({ vendors }) => vendors.size);
  expect(countVendors()).toBe(0);
  await operations.leadership?.step();
  expect([operations.leadership?.mayAnswer(), countVendors()]).toEqual([true, 1]);
});

test("a build with a built-in vendor trusts only that vendor with its newest document, and cannot remove it", async () => {
  const folder = tempFolder();
  const createDesk = (name: string) =>
    Desk.create(realDisk, join(folder, name), { name, products: [name], passphrase: null });
  const [builtIn, other] = [await createDesk("built-in"), await createDesk("other")];
  const builtInRoot = usualRootFolder(join(folder, "built-in"));
  const [builtInTrust, otherTrust] = [builtIn.trust.document, other.trust.document];
  const vendorTrust = new VendorTrust((await openSite()).store, builtInTrust);

  const locked = { ok: false, fault: { code: "trust_locked" } };
  expect(await vendorTrust.previewTrustDocument(otherTrust)).toMatchObject(locked);
  expect(await vendorTrust.trustVendor(otherTrust, "test")).toMatchObject(locked);
  expect(await vendorTrust.trustVendor(builtInTrust, "test")).toMatchObject({ ok: true });
  // A start installs the built-in document again: a newer one of its root stays.
  const root = await Root.open(realDisk, builtInRoot, null);
  const { trust: newer } = await root.signNext({ retired: ["0".repeat(16)] });
  expect(await vendorTrust.trustVendor(newer.document, "test")).toMatchObject({ ok: true });
  const older = { ok: false, fault: { code: "trust_older", version: 2 } };
  expect(await vendorTrust.trustVendor(builtInTrust, "build")).toMatchObject(older);
  const trusted = unwrap(await vendorTrust.listVendors());
  expect(trusted.find(({ vendor }) => vendor === builtIn.vendor.vendor)?.version).toBe(2);
  expect(await vendorTrust.distrustVendor(builtIn.vendor.vendor, "test")).toMatchObject(locked);
});
