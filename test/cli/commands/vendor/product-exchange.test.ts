// A vendor adds a product to its desk, and a site accepts it with the new trust document alone.
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { Desk } from "../../../../src/desk/desk.ts";
import {
  issueTestLicense,
  openDeskAndSite,
  makeRequestFrom,
} from "../../../support/desk-and-site.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { tempFolder } from "../../../support/temp-folder.ts";
import { replaceKey, signNextTrust } from "../../../support/desk-keys.ts";
import { bothFolders, initDesk, withEnd } from "../../../support/vendor-commands.ts";

class DeskAndSite {
  readonly root = tempFolder();
  readonly deskFlags = ["--dir", this.path("desk")];
  readonly bothFlags = bothFolders(this.path("desk"));
  readonly dataFlags = ["--data", this.path("site"), "--identity", "site"];

  static async open(): Promise<DeskAndSite> {
    const opened = new DeskAndSite();
    await initDesk(opened.path("desk"), "CAD");
    mkdirSync(opened.path("site"), { mode: 0o700 });
    await runOrThrow(["admin", "token", "--name", "first", ...opened.dataFlags]);
    await opened.trustDesk();
    return opened;
  }

  path(name: string): string {
    return join(this.root, name);
  }

  async trustDesk(document = "trust.jwt"): Promise<void> {
    await runOrThrow(["trust", "add", this.path(`desk/${document}`), ...this.dataFlags, "--yes"]);
  }

  async issueCommand(product: string, out: string): Promise<string[]> {
    const request = this.path(`${out}.request`);
    await runOrThrow([
      "license",
      "request",
      ...this.dataFlags,
      "--product",
      product,
      "--out",
      request,
    ]);
    const answer = ["--request", request, "--out", this.path(out), "--allow-weak-binding"];
    return ["vendor", "issue", ...this.deskFlags, ...withEnd(answer)];
  }
}

test("a site accepts a license for a new product only after it installs the new trust document", async () => {
  const deskAndSite = await DeskAndSite.open();
  const refused = await runBerth(await deskAndSite.issueCommand("CAM", "early.jwt"));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("CAM") as string]);

  const output = await runOrThrow(["vendor", "product", "add", "CAM", ...deskAndSite.bothFlags]);
  expect(output).toContain("version 2 of the trust document is in");
  expect(output).toContain("berth trust add trust.jwt");
  const again = await runBerth(["vendor", "product", "add", "CAM", ...deskAndSite.bothFlags]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("already") as string]);

  await runOrThrow(await deskAndSite.issueCommand("CAM", "cam.jwt"));
  const add = ["license", "add", deskAndSite.path("cam.jwt"), ...deskAndSite.dataFlags];
  const early = await runBerth(add);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("untrusted_vendor")]);
  await deskAndSite.trustDesk();
  expect(await runOrThrow(add)).toContain("is installed");

  const unconfirmed = await runBerth([
    "vendor",
    "product",
    "remove",
    "CAM",
    ...deskAndSite.bothFlags,
  ]);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    2,
    expect.stringContaining("1 license of CAM will stay"),
  ]);
  const removed = await runJsonOrThrow([
    "vendor",
    "product",
    "remove",
    "CAM",
    ...deskAndSite.bothFlags,
    "--yes",
  ]);
  expect(removed).toMatchObject({ version: 3, products: ["CAD"], retired: [] });
  await deskAndSite.trustDesk();
  expect(await runJsonOrThrow(["trust", "list", ...deskAndSite.dataFlags])).toMatchObject([
    { products: ["CAD"] },
  ]);
  expect(await runJsonOrThrow(["license", "list", ...deskAndSite.dataFlags])).toHaveLength(1);
});

test("a product without licenses is removed without confirmation, and the only product never", async () => {
  const deskAndSite = await DeskAndSite.open();
  await runOrThrow(["vendor", "product", "add", "CAM", ...deskAndSite.bothFlags]);
  await runOrThrow(["vendor", "product", "remove", "CAM", ...deskAndSite.bothFlags]);
  const only = await runBerth(["vendor", "product", "remove", "CAD", ...deskAndSite.bothFlags]);
  expect([only.code, only.stderr]).toEqual([1, expect.stringContaining("only product") as string]);
  const unknown = await runBerth(["vendor", "product", "remove", "CAM", ...deskAndSite.bothFlags]);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("its products: CAD")]);
  expect((await runBerth(["vendor", "product", "add", "", ...deskAndSite.bothFlags])).code).toBe(2);
});

test("a product that is added after a new key reaches a site, and the desk still opens", async () => {
  const { folder, site } = await openDeskAndSite();
  await replaceKey(folder);
  const { trust } = await signNextTrust(folder, { products: ["sim", "ray", "fea"] });
  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.vendor).toEqual(trust.vendor);
  unwrap(await site.vendorTrust.trustVendor(trust.document, "test"));
  const { document } = await issueTestLicense(opened, await makeRequestFrom(site, "fea"));
  expect(unwrap(await site.licensing.installLicense(document, "test")).terms.product).toBe("fea");
});
