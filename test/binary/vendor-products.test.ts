// A vendor adds a product to its desk, and a site accepts it with the new trust document alone.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/offline-binary.ts";
import { unwrap } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { INIT_DESK } from "../support/vendor-commands.ts";

class DeskAndSite {
  readonly root = tempFolder();
  readonly deskFlags = ["--dir", this.path("desk")];
  readonly dataFlags = ["--data", this.path("site"), "--identity", "site"];

  constructor() {
    runOrThrow(...INIT_DESK, ...this.deskFlags, "--product", "CAD");
    Bun.spawnSync(["mkdir", "-m", "700", this.path("site")]);
    runOrThrow("admin", "token", "--name", "first", ...this.dataFlags);
    this.trustDesk();
  }

  path(name: string): string {
    return join(this.root, name);
  }

  trustDesk(document = "trust.jwt"): void {
    runOrThrow("trust", "add", this.path(`desk/${document}`), ...this.dataFlags, "--yes");
  }

  issueCommand(product: string, out: string): string[] {
    const request = this.path(`${out}.request`);
    runOrThrow("license", "request", ...this.dataFlags, "--product", product, "--out", request);
    const answer = ["--request", request, "--out", this.path(out), "--allow-weak-binding"];
    return ["vendor", "issue", ...this.deskFlags, ...answer];
  }
}

test("a site accepts a license for a new product only after it installs the new trust document", () => {
  const deskAndSite = new DeskAndSite();
  const refused = runBerth(...deskAndSite.issueCommand("CAM", "early.jwt"));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("CAM") as string]);

  const output = runOrThrow("vendor", "product", "add", "CAM", ...deskAndSite.deskFlags);
  expect(output).toContain("distribute trust.jwt");
  expect(output).toContain("berth trust add trust.jwt");
  const again = runBerth("vendor", "product", "add", "CAM", ...deskAndSite.deskFlags);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("already") as string]);

  runOrThrow(...deskAndSite.issueCommand("CAM", "cam.jwt"));
  const add = ["license", "add", deskAndSite.path("cam.jwt"), ...deskAndSite.dataFlags];
  const early = runBerth(...add);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("untrusted_vendor")]);
  deskAndSite.trustDesk();
  expect(runOrThrow(...add)).toContain("is installed");

  const unconfirmed = runBerth("vendor", "product", "remove", "CAM", ...deskAndSite.deskFlags);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    2,
    expect.stringContaining("1 license of CAM will stay"),
  ]);
  const removed = runJsonOrThrow(
    "vendor",
    "product",
    "remove",
    "CAM",
    ...deskAndSite.deskFlags,
    "--yes",
  );
  expect(removed).toMatchObject({ version: 3, products: ["CAD"], document: "trust.jwt" });
  deskAndSite.trustDesk();
  expect(runJsonOrThrow("trust", "list", ...deskAndSite.dataFlags)).toMatchObject([
    { products: ["CAD"] },
  ]);
  expect(runJsonOrThrow("license", "list", ...deskAndSite.dataFlags)).toHaveLength(1);
});

test("a product without licenses is removed without confirmation, and the only product never", () => {
  const deskAndSite = new DeskAndSite();
  runOrThrow("vendor", "product", "add", "CAM", ...deskAndSite.deskFlags);
  runOrThrow("vendor", "product", "remove", "CAM", ...deskAndSite.deskFlags);
  const only = runBerth("vendor", "product", "remove", "CAD", ...deskAndSite.deskFlags);
  expect([only.code, only.stderr]).toEqual([1, expect.stringContaining("only product") as string]);
  const unknown = runBerth("vendor", "product", "remove", "CAM", ...deskAndSite.deskFlags);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("its products: CAD")]);
  expect(runBerth("vendor", "product", "add", "", ...deskAndSite.deskFlags).code).toBe(2);
});

test("a product that is added after a key rotation reaches a site, and the desk still opens", async () => {
  const { desk, folder, site } = await openDeskAndSite();
  const second = await desk.rotateKey(realDisk, folder, null);
  const wider = await second.addProducts(realDisk, folder, ["fea"]);
  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.vendor).toEqual(wider.vendor);
  for (const file of ["successor-2.jwt", "successor-3.jwt"]) {
    unwrap(await site.vendorTrust.trustVendor(readFileSync(join(folder, file), "utf8"), "test"));
  }
  const { document } = await issueTestLicense(opened, await makeRequestFrom(site, "fea"));
  expect(unwrap(await site.licensing.installLicense(document, "test")).terms.product).toBe("fea");
});
