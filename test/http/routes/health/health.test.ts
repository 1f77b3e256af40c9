import { expect, test } from "bun:test";
import { expectOk, expectRefusal, openAppliance } from "../../../support/appliance.ts";
import { makeDiskError, FaultyDisk } from "../../../support/faulty-disk.ts";
import { justBefore, MONDAY } from "../../../support/scenario.ts";
import { tellNoSlowSyncs } from "../../../support/slow-syncs.ts";
import { waitUntil } from "../../../support/wait-until.ts";

tellNoSlowSyncs();

const HEALTH = "/api/v4/health";

test("health is ok while the server can write", async () => {
  const site = await openAppliance();
  expect(expectOk(await site.get(HEALTH))).toEqual({ status: "ok" });
});

test("health is degraded with disk_low while the disk has little space, and calls still succeed", async () => {
  const disk = new FaultyDisk();
  const site = await openAppliance({ disk });
  disk.bytesLeft = 1024 * 1024;
  expect(expectOk(await site.get(HEALTH))).toEqual({ status: "degraded", warnings: ["disk_low"] });
  const { storage } = expectOk(await site.status());
  expect(storage.fault).toBeNull();
  expect(storage.free_bytes).toBeLessThanOrEqual(1024 * 1024);
  expect(storage.warnings).toEqual([
    { code: "disk_low", message: expect.stringMatching(/^the disk of .* has 1 MiB free; /) },
  ]);
  expectOk(await site.register({ user: "ada" }));
  disk.clearFaults();
  expect(expectOk(await site.get(HEALTH))).toEqual({ status: "ok" });
});

test("HEAD health replies like GET without a body", async () => {
  const site = await openAppliance();
  const [response, body] = await site.send("HEAD", HEALTH);
  expect([response.status, body]).toEqual([200, ""]);
});

test("a full disk is 503 storage_full and counts nothing, and free space makes health ok again", async () => {
  const disk = new FaultyDisk();
  const site = await openAppliance({ disk });
  disk.bytesLeft = 0;
  expectRefusal(await site.addConsumption({}), 503, "storage_full");
  expectRefusal(await site.get(HEALTH), 503, "storage_full");
  expectRefusal(await site.register({ user: "ada" }), 503, "storage_full");
  const [head, body] = await site.send("HEAD", HEALTH);
  expect([head.status, body]).toEqual([503, ""]);
  expect(expectOk(await site.license())).toMatchObject({
    total_consumptions: 0,
    floating_in_use_devices: 0,
  });
  expect(expectOk(await site.status()).storage.fault).toBe("storage_full");
  disk.clearFaults();
  await waitUntil(() => site.applianceStatus.storageStatus().fault === null);
  expectOk(await site.get(HEALTH));
  expect(expectOk(await site.addConsumption({})).total_consumptions).toBe(1);
});

test("a failed sync is 503 storage_failed for its own change and for all changes after it", async () => {
  const disk = new FaultyDisk();
  const site = await openAppliance({ disk });
  disk.beforeCall = ({ name }) => {
    if (name === "syncData" || name === "sync") throw makeDiskError("EIO");
  };
  expectRefusal(await site.register({ user: "ada" }), 503, "storage_failed");
  expectRefusal(await site.get(HEALTH), 503, "storage_failed");
  disk.clearFaults();
  expectRefusal(await site.register({ user: "ada" }), 503, "storage_failed");
});

test("a clock that is set back does not shorten new registrations", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  site.clock.now = justBefore(MONDAY);
  const { registered_at, expires_at } = expectOk(await site.register({ user: "bob" }));
  expect([registered_at, expires_at]).toEqual([
    "2026-03-02T09:00:00.000Z",
    "2026-03-02T09:30:00.000Z",
  ]);
});
