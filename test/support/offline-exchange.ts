// A vendor's desk and a site's data folder, operated with commands only. The files that they
// exchange are in one temporary folder.
import { join } from "node:path";
import { wallClock } from "../../src/platform/clock.ts";
import { runOrThrow, runJsonOrThrow } from "./run-berth.ts";
import { openSiteFolder } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";
import { withEnd } from "./vendor-commands.ts";

export interface VendorSummary {
  readonly vendor: string;
  readonly fingerprint: string;
  readonly version: number;
}

export class OfflineExchange {
  readonly #root = tempFolder();
  /** Products with a license: answers to later requests renew it, and keep its end. */
  readonly #issued = new Set<string>();
  readonly deskFlags = ["--dir", this.path("desk")];
  readonly dataFlags = ["--data", this.path("site")];

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  makeDesk(...products: string[]): Promise<VendorSummary> {
    const productFlags = products.flatMap((product) => ["--product", product]);
    return runJsonOrThrow([
      "vendor",
      "init",
      "--name",
      "Acme",
      "--no-passphrase",
      ...this.deskFlags,
      ...productFlags,
    ]);
  }

  /** Creates a data folder without any trusted vendor. */
  makeSite(): Promise<void> {
    return this.makeSiteIn(this.path("site"));
  }

  async makeSiteIn(folder: string): Promise<void> {
    const { close } = await openSiteFolder(folder, wallClock);
    await close();
  }

  trustCommand(file: string): string[] {
    return ["trust", "add", this.path("desk", file), ...this.dataFlags];
  }

  /** Creates a desk and a site that trusts it. */
  async open(...products: string[]): Promise<void> {
    await this.makeDesk(...products);
    await this.makeSite();
    await runOrThrow([...this.trustCommand("trust.jwt"), "--yes"]);
  }

  /** Creates a request and answers it with these terms; returns the path of the license. */
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
    const files = ["--request", request, "--allow-weak-binding", "--out", license];
    const flags = this.#issued.has(product) ? terms : withEnd(terms);
    this.#issued.add(product);
    await runOrThrow(["vendor", "issue", ...this.deskFlags, ...files, ...flags]);
    return license;
  }

  addLicenseCommand(license: string): string[] {
    return ["license", "add", license, ...this.dataFlags];
  }
}
