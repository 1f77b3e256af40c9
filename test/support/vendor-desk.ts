// A vendor's desk that is operated with commands, and a site that requests licenses from it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TermsDocument } from "../../src/license/terms/terms.ts";
import { openAppliance, type Appliance } from "./appliance.ts";
import { runBerth, runOrThrow, type CommandResult } from "./run-berth.ts";
import { unwrap } from "./licensed-store.ts";
import { tempFolder } from "./temp-folder.ts";
import { withEnd } from "./vendor-commands.ts";

/** The payload of a signed document. */
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

  /** Writes a file and returns its path. */
  writeFile(name: string, text: string): string {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  /** The ledger after the two lines that a new desk has: its trust document and its key. */
  readLedger(): string {
    const text = readFileSync(this.path("desk/ledger.jsonl"), "utf8");
    return text.replace(/^(?:.*\n){2}/, "");
  }

  run(command: string, ...flags: string[]): Promise<CommandResult> {
    return runBerth(["vendor", command, ...this.#dir, ...flags]);
  }

  /** Signs a policy, without an end unless the flags set one. */
  makePolicy(...flags: string[]): Promise<CommandResult> {
    return this.run("policy", "--policy-id", "p", "--product", "CAD", ...withEnd(flags));
  }

  /** Signs a policy with these flags and returns its terms. */
  async readPolicyTerms(...flags: string[]): Promise<TermsDocument> {
    const result = await this.makePolicy("--json", "--replace", ...flags);
    if (result.code !== 0) throw new Error(result.stderr);
    return payloadOf((JSON.parse(result.stdout) as { policy: string }).policy).terms;
  }

  /** Creates the site's next request and returns its path. */
  async makeRequest(): Promise<string> {
    this.#site ??= await openAppliance({ licenses: {} });
    const { document } = unwrap(await this.#site.licensing.request("CAD", null, "test"));
    return this.writeFile("request.jwt", document);
  }

  /** Issues a license with these terms for the site, without an end unless they set one. */
  async issueLicense(...flags: string[]): Promise<string> {
    const result = await this.run(
      "issue",
      "--request",
      await this.makeRequest(),
      ...withEnd(flags),
      "--json",
    );
    if (result.code !== 0) throw new Error(result.stderr);
    return String((JSON.parse(result.stdout) as { license_id: number }).license_id);
  }

  /** Renews a license; returns the command's result and the signed terms. */
  async renewLicense(
    id: string,
    ...flags: string[]
  ): Promise<{ result: CommandResult; terms: TermsDocument }> {
    const result = await this.run("issue", "--renew", id, ...flags, "--json");
    if (result.code !== 0) throw new Error(result.stderr);
    const { document } = JSON.parse(result.stdout) as { document: string };
    return { result, terms: payloadOf(document).terms };
  }
}
