// A vendor's desk through the commands that a vendor types, and a site that asks it for licenses.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TermsDocument } from "../../src/license/terms.ts";
import { openAppliance, type Appliance } from "./appliance.ts";
import { runBerth, runOrThrow, type CommandResult } from "./run-berth.ts";
import { unwrap } from "./licensed-store.ts";
import { tempFolder } from "./temp-folder.ts";

/** What a signed document says. */
const payloadOf = (document: string): { readonly terms: TermsDocument } =>
  JSON.parse(Buffer.from(document.split(".")[1] ?? "", "base64url").toString()) as {
    readonly terms: TermsDocument;
  };

export class VendorDesk {
  readonly folder = tempFolder();
  readonly #dir = ["--dir", this.path("desk")];
  #site: Appliance | null = null;

  static async open(): Promise<VendorDesk> {
    const desk = new VendorDesk();
    await runOrThrow([
      "vendor",
      "init",
      ...desk.#dir,
      "--name",
      "Acme",
      "--product",
      "CAD",
      "--no-passphrase",
    ]);
    return desk;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** A file with this text; its path. */
  writeFile(name: string, text: string): string {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  readLedger(): string {
    return readFileSync(this.path("desk/ledger.jsonl"), "utf8");
  }

  run(command: string, ...flags: string[]): Promise<CommandResult> {
    return runBerth(["vendor", command, ...this.#dir, ...flags]);
  }

  makePolicy(...flags: string[]): Promise<CommandResult> {
    return this.run("policy", "--policy-id", "p", "--product", "CAD", ...flags);
  }

  /** The terms of a policy that is signed with these flags. */
  async readPolicyTerms(...flags: string[]): Promise<TermsDocument> {
    const said = await this.makePolicy("--json", "--replace", ...flags);
    if (said.code !== 0) throw new Error(said.stderr);
    return payloadOf((JSON.parse(said.stdout) as { makePolicy: string }).makePolicy).terms;
  }

  /** The site's next request; its path. */
  async makeRequest(): Promise<string> {
    this.#site ??= await openAppliance({ licenses: {} });
    const { document } = unwrap(await this.#site.licensing.request("CAD", null, "test"));
    return this.writeFile("request.jwt", document);
  }

  /** A license with these terms for a site of its own; its id. */
  async issueLicense(...flags: string[]): Promise<string> {
    const said = await this.run("issue", "--request", await this.makeRequest(), ...flags, "--json");
    if (said.code !== 0) throw new Error(said.stderr);
    return String((JSON.parse(said.stdout) as { license_id: number }).license_id);
  }

  /** A renewal; what it said, and the terms that it signed. */
  async renewLicense(
    id: string,
    ...flags: string[]
  ): Promise<{ said: CommandResult; terms: TermsDocument }> {
    const said = await this.run("issue", "--renew", id, ...flags, "--json");
    if (said.code !== 0) throw new Error(said.stderr);
    const { document } = JSON.parse(said.stdout) as { document: string };
    return { said, terms: payloadOf(document).terms };
  }
}
