import { describe, expect, test } from "bun:test";
import {
  runWithAnswer,
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  startServer,
} from "../support/run-berth.ts";
import { OfflineExchange, type VendorSummary } from "../support/offline-exchange.ts";

interface LicenseOutput {
  readonly floating_users: number;
  readonly product_details: { readonly short_code: string };
}

class SuccessorLoop extends OfflineExchange {
  succeed(): Promise<VendorSummary> {
    return runJsonOrThrow(["vendor", "successor", "--no-passphrase", ...this.deskFlags]);
  }

  trusted(): Promise<VendorSummary[]> {
    return runJsonOrThrow(["trust", "list", ...this.dataFlags]);
  }

  /** Makes a request, has the desk answer it, and installs the answer. */
  async license(slots: number): Promise<void> {
    await runOrThrow(
      this.addLicenseCommand(await this.requestAndIssue("CAD", "--slots", String(slots))),
    );
  }

  licenses(): Promise<LicenseOutput[]> {
    return runJsonOrThrow(["license", "list", ...this.dataFlags]);
  }
}

const SITE_STATES = [
  ["a running server", true],
  ["a data folder that no server has open", false],
] as const;

describe("berth trust add of a successor document", () => {
  test.each(SITE_STATES)(
    "is accepted by %s, and so is a license of the new key",
    async (_way, served) => {
      const loop = new SuccessorLoop();
      const first = await loop.makeDesk("CAD");
      await loop.makeSite();
      if (served) await startServer(["serve", ...loop.dataFlags]);
      await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
      await loop.license(3);
      const second = await loop.succeed();
      const shown = await runOrThrow([...loop.trustCommand("successor-2.jwt"), "--yes"]);
      expect(shown).toContain(`fingerprint  ${second.fingerprint} (was ${first.fingerprint})`);
      expect(shown).toContain("version      2 (was 1)");
      expect(shown).toContain("products     CAD\n");
      expect(await loop.trusted()).toMatchObject([
        { vendor: first.vendor, fingerprint: second.fingerprint, version: 2 },
      ]);
      await loop.license(8);
      expect(await loop.licenses()).toMatchObject([
        { floating_users: 8, product_details: { short_code: "CAD" } },
      ]);
    },
  );

  test("is refused with the way to go where the vendor is not trusted yet", async () => {
    const loop = new SuccessorLoop();
    await loop.makeDesk("CAD");
    await loop.succeed();
    await loop.makeSite();
    const { code, stdout, stderr } = await runBerth([
      ...loop.trustCommand("successor-2.jwt"),
      "--yes",
    ]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("a vendor that is not trusted here: add its trust.jwt first");
    expect(await loop.trusted()).toEqual([]);
  });

  test("is refused with the way to go where one before it was left out", async () => {
    const loop = new SuccessorLoop();
    await loop.makeDesk("CAD");
    await loop.makeSite();
    await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
    await loop.succeed();
    await loop.succeed();
    const { code, stdout, stderr } = await runBerth([
      ...loop.trustCommand("successor-3.jwt"),
      "--yes",
    ]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("take successor-2.jwt first");
    await runOrThrow([...loop.trustCommand("successor-2.jwt"), "--yes"]);
    await runOrThrow([...loop.trustCommand("successor-3.jwt"), "--yes"]);
    expect(await loop.trusted()).toMatchObject([{ version: 3 }]);
  });

  test.skipIf(process.platform === "win32")("asks before it is accepted", async () => {
    const loop = new SuccessorLoop();
    await loop.makeDesk("CAD");
    await loop.makeSite();
    await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
    const { fingerprint } = await loop.succeed();
    const refused = await runWithAnswer(loop.trustCommand("successor-2.jwt"), "n");
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining(fingerprint)]);
    expect(refused.text).toContain("nothing was changed");
    expect(await loop.trusted()).toMatchObject([{ version: 1 }]);
    expect((await runWithAnswer(loop.trustCommand("successor-2.jwt"), "y")).code).toBe(0);
    expect(await loop.trusted()).toMatchObject([{ version: 2, fingerprint }]);
  });

  test.each(SITE_STATES)(
    "names the keys it retires before it is accepted, in %s",
    async (_way, served) => {
      const loop = new SuccessorLoop();
      const { vendor } = await loop.makeDesk("CAD");
      await loop.makeSite();
      if (served) await startServer(["serve", ...loop.dataFlags]);
      await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
      expect((await loop.trusted())[0]).not.toHaveProperty("retired");
      const day = "2027-01-02";
      const retire = ["--retire-old", "--retire-from", day, "--no-passphrase", ...loop.deskFlags];
      await runOrThrow(["vendor", "successor", ...retire]);
      const unasked = await runBerth(loop.trustCommand("successor-2.jwt"));
      expect([unasked.code, unasked.stdout]).toEqual([
        2,
        expect.stringContaining(`retired      ${vendor} (from ${day})\n`),
      ]);
      await runOrThrow([...loop.trustCommand("successor-2.jwt"), "--yes"]);
      expect(await loop.trusted()).toMatchObject([
        { version: 2, retired: [{ key: vendor, from: `${day}T00:00:00.000Z` }] },
      ]);
    },
  );

  test("names a key that it retires at once without a day", async () => {
    const loop = new SuccessorLoop();
    const { vendor } = await loop.makeDesk("CAD");
    await loop.makeSite();
    await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
    await runOrThrow(["vendor", "successor", "--retire-old", "--no-passphrase", ...loop.deskFlags]);
    const shown = await runOrThrow([...loop.trustCommand("successor-2.jwt"), "--yes"]);
    expect(shown).toContain(`retired      ${vendor} (immediately)\n`);
    expect(await loop.trusted()).toMatchObject([{ retired: [{ key: vendor, from: null }] }]);
  });

  test("says that nothing is new when it is given once more", async () => {
    const loop = new SuccessorLoop();
    await loop.makeDesk("CAD");
    await loop.makeSite();
    await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
    const again = await runOrThrow([...loop.trustCommand("trust.jwt"), "--yes"]);
    expect(again).toContain("this trust document is already known");
  });
});

test("a license of a key that the site does not know yet is refused with a hint at the successor", async () => {
  const loop = new SuccessorLoop();
  await loop.open("CAD");
  await loop.succeed();
  const license = await loop.requestAndIssue("CAD");
  const refused = await runBerth(loop.addLicenseCommand(license));
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("If the vendor's key changed, a successor document is missing");
  expect(refused.stderr).toMatch(/^berth: hint: berth trust add FILE .*newer successor document/m);
  await runOrThrow([...loop.trustCommand("successor-2.jwt"), "--yes"]);
  await runOrThrow(loop.addLicenseCommand(license));
});
