import { describe, expect, test } from "bun:test";
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

class SuccessorExchange extends OfflineExchange {
  createSuccessor(): Promise<VendorSummary> {
    return runJsonOrThrow(["vendor", "successor", "--no-passphrase", ...this.deskFlags]);
  }

  listTrusted(): Promise<VendorSummary[]> {
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

describe("berth trust add of a successor document", () => {
  test.each(SITE_STATES)(
    "is accepted by %s, and so is a license of the new key",
    async (_state, isServed) => {
      const exchange = new SuccessorExchange();
      const first = await exchange.makeDesk("CAD");
      await exchange.makeSite();
      if (isServed) await startServer(["serve", ...exchange.dataFlags]);
      await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
      await exchange.installLicense(3);
      const second = await exchange.createSuccessor();
      const shown = await runOrThrow([...exchange.trustCommand("successor-2.jwt"), "--yes"]);
      expect(shown).toContain(`fingerprint  ${second.fingerprint} (was ${first.fingerprint})`);
      expect(shown).toContain("version      2 (was 1)");
      expect(shown).toContain("products     CAD\n");
      expect(await exchange.listTrusted()).toMatchObject([
        { vendor: first.vendor, fingerprint: second.fingerprint, version: 2 },
      ]);
      await exchange.installLicense(8);
      expect(await exchange.listLicenses()).toMatchObject([
        { floating_users: 8, product_details: { short_code: "CAD" } },
      ]);
    },
  );

  test("is refused with a hint when the vendor is not trusted yet", async () => {
    const exchange = new SuccessorExchange();
    await exchange.makeDesk("CAD");
    await exchange.createSuccessor();
    await exchange.makeSite();
    const { code, stdout, stderr } = await runBerth([
      ...exchange.trustCommand("successor-2.jwt"),
      "--yes",
    ]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("a vendor that is not trusted here: add its trust.jwt first");
    expect(await exchange.listTrusted()).toEqual([]);
  });

  test("is refused with a hint when an earlier successor document is missing", async () => {
    const exchange = new SuccessorExchange();
    await exchange.makeDesk("CAD");
    await exchange.makeSite();
    await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
    await exchange.createSuccessor();
    await exchange.createSuccessor();
    const { code, stdout, stderr } = await runBerth([
      ...exchange.trustCommand("successor-3.jwt"),
      "--yes",
    ]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("add successor-2.jwt first");
    await runOrThrow([...exchange.trustCommand("successor-2.jwt"), "--yes"]);
    await runOrThrow([...exchange.trustCommand("successor-3.jwt"), "--yes"]);
    expect(await exchange.listTrusted()).toMatchObject([{ version: 3 }]);
  });

  test.skipIf(process.platform === "win32")("asks for confirmation", async () => {
    const exchange = new SuccessorExchange();
    await exchange.makeDesk("CAD");
    await exchange.makeSite();
    await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
    const { fingerprint } = await exchange.createSuccessor();
    const refused = await runWithAnswer(exchange.trustCommand("successor-2.jwt"), "n");
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining(fingerprint)]);
    expect(refused.text).toContain("nothing was changed");
    expect(await exchange.listTrusted()).toMatchObject([{ version: 1 }]);
    expect((await runWithAnswer(exchange.trustCommand("successor-2.jwt"), "y")).code).toBe(0);
    expect(await exchange.listTrusted()).toMatchObject([{ version: 2, fingerprint }]);
  });

  test.each(SITE_STATES)(
    "shows the keys that it retires before it is accepted, with %s",
    async (_state, isServed) => {
      const exchange = new SuccessorExchange();
      const { vendor } = await exchange.makeDesk("CAD");
      await exchange.makeSite();
      if (isServed) await startServer(["serve", ...exchange.dataFlags]);
      await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
      expect((await exchange.listTrusted())[0]).not.toHaveProperty("retired");
      const day = "2027-01-02";
      const retire = [
        "--retire-old",
        "--retire-from",
        day,
        "--no-passphrase",
        ...exchange.deskFlags,
      ];
      await runOrThrow(["vendor", "successor", ...retire]);
      const unconfirmed = await runBerth(exchange.trustCommand("successor-2.jwt"));
      expect([unconfirmed.code, unconfirmed.stdout]).toEqual([
        2,
        expect.stringContaining(`retired      ${vendor} (from ${day})\n`),
      ]);
      await runOrThrow([...exchange.trustCommand("successor-2.jwt"), "--yes"]);
      expect(await exchange.listTrusted()).toMatchObject([
        { version: 2, retired: [{ key: vendor, from: `${day}T00:00:00.000Z` }] },
      ]);
    },
  );

  test("shows a key that it retires immediately without a day", async () => {
    const exchange = new SuccessorExchange();
    const { vendor } = await exchange.makeDesk("CAD");
    await exchange.makeSite();
    await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
    await runOrThrow([
      "vendor",
      "successor",
      "--retire-old",
      "--no-passphrase",
      ...exchange.deskFlags,
    ]);
    const shown = await runOrThrow([...exchange.trustCommand("successor-2.jwt"), "--yes"]);
    expect(shown).toContain(`retired      ${vendor} (immediately)\n`);
    expect(await exchange.listTrusted()).toMatchObject([
      { retired: [{ key: vendor, from: null }] },
    ]);
  });

  test("says that the document is already known when it is added again", async () => {
    const exchange = new SuccessorExchange();
    await exchange.makeDesk("CAD");
    await exchange.makeSite();
    await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
    const again = await runOrThrow([...exchange.trustCommand("trust.jwt"), "--yes"]);
    expect(again).toContain("this trust document is already known");
  });
});

test("berth license add refuses a license of an unknown newer key, with a hint about the successor", async () => {
  const exchange = new SuccessorExchange();
  await exchange.open("CAD");
  await exchange.createSuccessor();
  const license = await exchange.requestAndIssue("CAD");
  const refused = await runBerth(exchange.addLicenseCommand(license));
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("If the vendor's key changed, a successor document is missing");
  expect(refused.stderr).toMatch(
    /^berth: hint: .*newer successor document, with berth trust add FILE/m,
  );
  await runOrThrow([...exchange.trustCommand("successor-2.jwt"), "--yes"]);
  await runOrThrow(exchange.addLicenseCommand(license));
});
