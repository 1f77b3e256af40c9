// A vendor adds a product to its desk, and a site learns of it by the new trust document alone.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issued, openDesk, requestFrom } from "../support/desk.ts";
import { berth, done, doneJson } from "../support/gap.ts";
import { granted } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

class Loop {
  readonly root = tempFolder();
  readonly desk = ["--dir", this.path("desk")];
  readonly data = ["--data", this.path("site"), "--identity", "site"];

  constructor() {
    done("vendor", "init", "--no-passphrase", "--name", "Acme", ...this.desk, "--product", "CAD");
    Bun.spawnSync(["mkdir", "-m", "700", this.path("site")]);
    done("admin", "token", "--name", "first", ...this.data);
    this.trust();
  }

  path(name: string): string {
    return join(this.root, name);
  }

  trust(document = "trust.jwt"): void {
    done("trust", "add", this.path(`desk/${document}`), ...this.data, "--yes");
  }

  issuing(product: string, out: string): string[] {
    const request = this.path(`${out}.request`);
    done("license", "request", ...this.data, "--product", product, "--out", request);
    const answer = ["--request", request, "--out", this.path(out), "--allow-weak-binding"];
    return ["vendor", "issue", ...this.desk, ...answer];
  }
}

test("a site takes the document with a new product, and then a license of that product", () => {
  const loop = new Loop();
  const refused = berth(...loop.issuing("CAM", "early.jwt"));
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("CAM") as string]);

  const said = done("vendor", "product", "add", "CAM", ...loop.desk);
  expect(said).toContain("distribute trust.jwt");
  expect(said).toContain("berth trust add trust.jwt");
  const again = berth("vendor", "product", "add", "CAM", ...loop.desk);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("already") as string]);

  done(...loop.issuing("CAM", "cam.jwt"));
  const add = ["license", "add", loop.path("cam.jwt"), ...loop.data];
  const early = berth(...add);
  expect([early.code, early.err]).toEqual([1, expect.stringContaining("untrusted_vendor")]);
  loop.trust();
  expect(done(...add)).toContain("is installed");

  const out = berth("vendor", "product", "remove", "CAM", ...loop.desk);
  expect([out.code, out.err]).toEqual([2, expect.stringContaining("1 license of CAM will stay")]);
  const removed = doneJson("vendor", "product", "remove", "CAM", ...loop.desk, "--yes");
  expect(removed).toMatchObject({ version: 3, products: ["CAD"], document: "trust.jwt" });
  loop.trust();
  expect(doneJson("trust", "list", ...loop.data)).toMatchObject([{ products: ["CAD"] }]);
  expect(doneJson("license", "list", ...loop.data)).toHaveLength(1);
});

test("a product without licenses is removed unasked, the only one never", () => {
  const loop = new Loop();
  done("vendor", "product", "add", "CAM", ...loop.desk);
  done("vendor", "product", "remove", "CAM", ...loop.desk);
  const only = berth("vendor", "product", "remove", "CAD", ...loop.desk);
  expect([only.code, only.err]).toEqual([1, expect.stringContaining("only product") as string]);
  const unknown = berth("vendor", "product", "remove", "CAM", ...loop.desk);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("its products: CAD")]);
  expect(berth("vendor", "product", "add", "", ...loop.desk).code).toBe(2);
});

test("a product that is added after a successor reaches a site, and the desk still opens", async () => {
  const { desk, folder, site } = await openDesk();
  const second = await desk.rotateKey(realDisk, folder, null);
  const wider = await second.addProducts(realDisk, folder, ["fea"]);
  const opened = await Desk.open(realDisk, folder, null);
  expect(opened.vendor).toEqual(wider.vendor);
  for (const file of ["successor-2.jwt", "successor-3.jwt"]) {
    granted(await site.licensing.trustVendor(readFileSync(join(folder, file), "utf8"), "test"));
  }
  const { document } = await issued(opened, await requestFrom(site, "fea"));
  expect(granted(await site.licensing.installLicense(document, "test")).terms.product).toBe("fea");
});
