// A vendor's desk and a site's data folder, worked on by the commands alone, whatever is carried
// between them lying in one temporary folder.
import { join } from "node:path";
import { wallClock } from "../../src/platform/clock.ts";
import { runOrThrow, runJsonOrThrow } from "./run-berth.ts";
import { openSiteFolder } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";

export interface VendorSummary {
  readonly vendor: string;
  readonly fingerprint: string;
  readonly version: number;
}

export class OfflineExchange {
  readonly #root = tempFolder();
  readonly deskFlags = ["--dir", this.path("desk")];
  readonly dataFlags = ["--data", this.path("site")];

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  makeDesk(...products: string[]): Promise<VendorSummary> {
    const named = products.flatMap((product) => ["--product", product]);
    return runJsonOrThrow([
      "vendor",
      "init",
      "--name",
      "Acme",
      "--no-passphrase",
      ...this.deskFlags,
      ...named,
    ]);
  }

  /** A data folder that trusts nobody yet. */
  async makeSite(): Promise<void> {
    const { store } = await openSiteFolder(this.path("site"), wallClock);
    await store.close();
  }

  trustCommand(file: string): string[] {
    return ["trust", "add", this.path("desk", file), ...this.dataFlags];
  }

  /** Both, and the site trusts the desk. */
  async open(...products: string[]): Promise<void> {
    await this.makeDesk(...products);
    await this.makeSite();
    await runOrThrow([...this.trustCommand("trust.jwt"), "--yes"]);
  }

  /** Makes a request and has the desk answer it with these terms; the path of the license. */
  async requestAndIssue(product: string, ...terms: string[]): Promise<string> {
    const [request, license] = [this.path("request.jwt"), this.path("license.jwt")];
    await runOrThrow([
      "license",
      "request",
      "--product",
      product,
      ...this.dataFlags,
      "--out",
      request,
    ]);
    const named = ["--request", request, "--allow-weak-binding", "--out", license];
    await runOrThrow(["vendor", "issue", ...this.deskFlags, ...named, ...terms]);
    return license;
  }

  addLicenseCommand(license: string): string[] {
    return ["license", "add", license, ...this.dataFlags];
  }
}
