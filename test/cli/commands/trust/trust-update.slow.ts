// A newer trust document of a vendor that a site trusts: new products, retired keys, other names.
import { describe, expect, test } from "bun:test";
import { copyFileSync, cpSync } from "node:fs";
import {
  runWithAnswer,
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  startServer,
} from "../../../support/run-berth.ts";
import { OfflineExchange, type VendorSummary } from "../../../support/offline-exchange.ts";

interface LicenseOutput {
  readonly floating_users: number;
  readonly product_details: { readonly short_code: string };
}

interface TrustedVendor extends VendorSummary {
  readonly products: readonly string[];
  readonly retired: readonly string[];
}

class TrustExchange extends OfflineExchange {
  readonly bothFlags = [...this.deskFlags, "--root", this.path("desk-root")];

  async newKey(): Promise<string> {
    const words = ["vendor", "key", "new", "--no-passphrase", ...this.bothFlags];
    return (await runJsonOrThrow<{ key: string }>(words)).key;
  }

  async retireKey(key: string): Promise<void> {
    await runOrThrow(["vendor", "key", "retire", key, ...this.bothFlags, "--yes"]);
  }

  addProduct(code: string): Promise<string> {
    return runOrThrow(["vendor", "product", "add", code, ...this.bothFlags]);
  }

  async currentKey(): Promise<string> {
    const words = ["vendor", "show", ...this.deskFlags];
    const { keys } = await runJsonOrThrow<{ keys: { key: string }[] }>(words);
    return keys[0]?.key ?? "";
  }

  trust(file = "trust.jwt", ...flags: string[]): Promise<string> {
    return runOrThrow([...this.trustCommand(file), ...flags]);
  }

  listTrusted(): Promise<TrustedVendor[]> {
    return runJsonOrThrow(["trust", "list", ...this.dataFlags]);
  }

  /** Requests a license, issues it at the desk and installs it. */
  async installLicense(slots: number): Promise<void> {
    await runOrThrow(
      this.addLicenseCommand(await this.requestAndIssue("CAD", "--slots", String(slots))),
    );
  }

  listLicenses(): Promise<LicenseOutput[]> {
    return runJsonOrThrow(["license", "list", ...this.dataFlags]);
  }
}

const SITE_STATES = [
  ["a running server", true],
  ["a stopped server's folder", false],
] as const;

describe("berth trust add of a newer document", () => {
  test.each(SITE_STATES)(
    "is accepted by %s with what it changes, and the fingerprint stays",
    async (_state, isServed) => {
      const exchange = new TrustExchange();
      const first = await exchange.makeDesk("CAD");
      await exchange.makeSite();
      if (isServed) await startServer(["serve", ...exchange.dataFlags]);
      await exchange.trust("trust.jwt", "--yes");
      await exchange.installLicense(3);
      const key = await exchange.currentKey();
      await exchange.addProduct("CAM");
      await exchange.newKey();
      await exchange.retireKey(key);
      const shown = await exchange.trust();
      expect(shown).toContain(`fingerprint  ${first.fingerprint}\n`);
      expect(shown).toContain("version      3 (was 1)");
      expect(shown).toContain("products     CAD, CAM; added: CAM\n");
      expect(shown).toContain(`retired key  ${key}\n`);
      expect(await exchange.listTrusted()).toMatchObject([
        { vendor: first.vendor, fingerprint: first.fingerprint, version: 3, retired: [key] },
      ]);
      await exchange.installLicense(8);
      expect(await exchange.listLicenses()).toMatchObject([
        { floating_users: 8, product_details: { short_code: "CAD" } },
      ]);
    },
  );

  test("needs no version before it, at a site that trusts the vendor and at a new one", async () => {
    const exchange = new TrustExchange();
    await exchange.open("CAD");
    for (const product of ["CAM", "CAE", "CAX"]) await exchange.addProduct(product);
    await exchange.trust();
    expect(await exchange.listTrusted()).toMatchObject([{ version: 4 }]);
    const other = new TrustExchange();
    await other.makeSite();
    copyFileSync(exchange.path("desk", "trust.jwt"), other.path("trust.jwt"));
    const add = ["trust", "add", other.path("trust.jwt"), ...other.dataFlags];
    expect((await runBerth(add)).code).toBe(2);
    await runOrThrow([...add, "--yes"]);
    expect(await other.listTrusted()).toMatchObject([{ version: 4 }]);
  });

  test.skipIf(process.platform === "win32")("asks only for a vendor that is new", async () => {
    const exchange = new TrustExchange();
    const { fingerprint } = await exchange.makeDesk("CAD");
    await exchange.makeSite();
    const refused = await runWithAnswer(exchange.trustCommand("trust.jwt"), "n");
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining(fingerprint)]);
    expect(await exchange.listTrusted()).toEqual([]);
    expect((await runWithAnswer(exchange.trustCommand("trust.jwt"), "y")).code).toBe(0);
    await exchange.addProduct("CAM");
    await exchange.trust();
    expect(await exchange.listTrusted()).toMatchObject([{ version: 2, fingerprint }]);
  });

  test("is refused if it is older, and changes nothing if it is known", async () => {
    const exchange = new TrustExchange();
    await exchange.open("CAD");
    copyFileSync(exchange.path("desk", "trust.jwt"), exchange.path("desk", "old.jwt"));
    await exchange.addProduct("CAM");
    await exchange.trust();
    const older = await runBerth(exchange.trustCommand("old.jwt"));
    expect([older.code, older.stderr]).toEqual([1, expect.stringContaining("trust_older")]);
    expect(await exchange.trust()).toContain("this trust document is already known");
    expect(await exchange.listTrusted()).toMatchObject([{ version: 2 }]);
  });
});

describe("berth license add", () => {
  test("installs a license of a new key without another trust document", async () => {
    const exchange = new TrustExchange();
    await exchange.open("CAD");
    await exchange.installLicense(3);
    await exchange.newKey();
    await exchange.installLicense(5);
    expect(await exchange.listLicenses()).toMatchObject([{ floating_users: 5 }]);
  });

  test("asks for trust.jwt if the key needs a newer one, and takes both files together", async () => {
    const exchange = new TrustExchange();
    await exchange.open("CAD");
    await exchange.retireKey(await exchange.currentKey());
    await exchange.newKey();
    const license = await exchange.requestAndIssue("CAD");
    const refused = await runBerth(exchange.addLicenseCommand(license));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("trust_outdated")]);
    expect(refused.stderr).toContain("needs version 2 of the trust document of Acme");
    expect(refused.stderr).toMatch(/^berth: hint: .*berth trust add trust\.jwt/m);
    // The desk has put it beside the answer.
    const both = ["license", "add", license, exchange.path("trust.jwt"), ...exchange.dataFlags];
    await runOrThrow(both);
    expect(await exchange.listTrusted()).toMatchObject([{ version: 2 }]);
  });

  test("takes the trust document that is installed, and refuses another one of its version", async () => {
    const exchange = new TrustExchange();
    await exchange.open("CAD");
    for (const name of ["desk", "desk-root"])
      cpSync(exchange.path(name), exchange.path(`copy-of-${name}`), { recursive: true });
    await exchange.addProduct("CAM");
    await exchange.trust();
    const copy = [
      "--dir",
      exchange.path("copy-of-desk"),
      "--root",
      exchange.path("copy-of-desk-root"),
    ];
    await runOrThrow(["vendor", "product", "add", "CAE", ...copy]);
    const license = await exchange.requestAndIssue("CAD");
    const addWith = (trust: string) =>
      runBerth(["license", "add", license, trust, ...exchange.dataFlags]);
    const refused = await addWith(exchange.path("copy-of-desk", "trust.jwt"));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("trust_older")]);
    expect(await exchange.listLicenses()).toEqual([]);
    expect((await addWith(exchange.path("desk", "trust.jwt"))).code).toBe(0);
  });
});
