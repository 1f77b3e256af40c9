// A vendor's desk and a site's data folder, worked on by the commands alone, whatever is carried
// between them lying in one temporary folder.
import { join } from "node:path";
import { wallClock } from "../../src/platform/clock.ts";
import { done, doneJson } from "./berth.ts";
import { openSiteFolder } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";

export interface LoopVendor {
  readonly vendor: string;
  readonly fingerprint: string;
  readonly version: number;
}

export class DeskLoop {
  readonly #root = tempFolder();
  readonly desk = ["--dir", this.path("desk")];
  readonly data = ["--data", this.path("site")];

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  makeDesk(...products: string[]): Promise<LoopVendor> {
    const named = products.flatMap((product) => ["--product", product]);
    return doneJson([
      "vendor",
      "init",
      "--name",
      "Acme",
      "--no-passphrase",
      ...this.desk,
      ...named,
    ]);
  }

  /** A data folder that trusts nobody yet. */
  async makeSite(): Promise<void> {
    const { store } = await openSiteFolder(this.path("site"), wallClock);
    await store.close();
  }

  trust(file: string): string[] {
    return ["trust", "add", this.path("desk", file), ...this.data];
  }

  /** Both, and the site trusts the desk. */
  async open(...products: string[]): Promise<void> {
    await this.makeDesk(...products);
    await this.makeSite();
    await done([...this.trust("trust.jwt"), "--yes"]);
  }

  /** Makes a request and has the desk answer it with these terms; the path of the license. */
  async answer(product: string, ...terms: string[]): Promise<string> {
    const [request, license] = [this.path("request.jwt"), this.path("license.jwt")];
    await done(["license", "request", "--product", product, ...this.data, "--out", request]);
    const named = ["--request", request, "--allow-weak-binding", "--out", license];
    await done(["vendor", "issue", ...this.desk, ...named, ...terms]);
    return license;
  }

  add(license: string): string[] {
    return ["license", "add", license, ...this.data];
  }
}
