import { describe, expect, test } from "bun:test";
import type { FullCheck } from "../../../../src/operations/health/assess-health.ts";
import type { ServerAccess } from "../../../../src/operations/health/exposures.ts";
import { createFinding } from "../../../../src/operations/health/finding.ts";
import { DAY, instant, later } from "../../../../src/domain/time.ts";
import { expectOk, openAppliance, type Appliance } from "../../../support/appliance.ts";
import { FaultyDisk } from "../../../support/faulty-disk.ts";
import { MONDAY } from "../../../support/scenario.ts";
import { tellNoSlowSyncs } from "../../../support/slow-syncs.ts";

tellNoSlowSyncs();

const OPEN: ServerAccess = {
  isClaimed: false,
  isDemo: false,
  clientAuth: "open",
  allowsPlainCredentials: false,
  clientNetworks: [],
  adminNetworks: [],
  plainHost: "127.0.0.1",
  plainAddress: "127.0.0.1:8080",
  hasTls: false,
  metrics: null,
};

const findingsOf = async (site: Appliance) =>
  expectOk(await site.status()).findings.map(({ code, severity }) => [code, severity]);

describe("the findings of GET /api/admin/v1/status", () => {
  test("are empty on a healthy site without a listener", async () => {
    expect(await findingsOf(await openAppliance())).toEqual([]);
  });

  test("name open access, and a product whose slots are all in use", async () => {
    const site = await openAppliance({ serverAccess: OPEN });
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user }));
    expect(await findingsOf(site)).toEqual([
      ["admin_open", "warning"],
      ["slots_full", "note"],
      ["clients_open", "note"],
    ]);
  });

  test("say in words that the disk is full", async () => {
    const disk = new FaultyDisk();
    const site = await openAppliance({ disk });
    disk.bytesLeft = 0;
    await site.register({ user: "ada" });
    const [finding] = expectOk(await site.status()).findings;
    expect(finding).toMatchObject({
      code: "disk_full",
      severity: "error",
      summary: `Disk full: no changes are accepted until space is freed on ${site.folder}`,
    });
    disk.clearFaults();
  });

  test("contain what the last full check found, with its time", async () => {
    const finding = createFinding("service_disabled", "warning", { summary: "x", remedy: "y" });
    const report = { findings: [finding], passed: [] };
    const fullCheck: FullCheck = { at: MONDAY, report, failure: "" };
    const site = await openAppliance({ fullCheck });
    const { findings, checked_at } = expectOk(await site.status());
    expect([findings, checked_at]).toEqual([[finding], "2026-03-02T09:00:00.000Z"]);
  });

  test("and the health of the server report a system clock that is days behind", async () => {
    const site = await openAppliance();
    site.clock.now = later(instant(Date.now()), 3 * DAY);
    const { findings } = expectOk(await site.status());
    expect(findings.map(({ code, severity }) => [code, severity])).toEqual([
      ["clock_suspect", "error"],
    ]);
    expect(findings[0]?.summary).toStartWith("The system clock is 3 days behind");
    expect(expectOk(await site.get("/api/v4/health"))).toEqual({
      status: "degraded",
      warnings: ["clock_suspect"],
    });
  });
});
