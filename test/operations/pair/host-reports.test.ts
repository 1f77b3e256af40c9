import { expect, test } from "bun:test";
import { HostReports } from "../../../src/operations/pair/host-reports.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";
import { openPair } from "../../support/pair-of-sites.ts";

test("a machine whose name another one has now does not overwrite its report", async () => {
  const { log, alpha } = await openPair();
  const reports = new HostReports({
    store: alpha.store,
    log: log.connect("alpha"),
    host: "alpha",
    hardware: [{ kind: "machine_id", digest: "ab".repeat(32) }],
    hardwareId: "ab".repeat(32),
    url: null,
    version: "1.0.0",
    bootMs: () => log.now,
    systemTime: () => log.now,
  });
  expect(await reports.refresh()).toEqual([]);
});

test("a report of a host has its age now, also if it was read a while ago", async () => {
  const { log, alpha } = await openPair();
  log.now = 5_000;
  const reports = new HostReports({
    store: alpha.store,
    log: log.connect("alpha"),
    host: "alpha",
    hardware: HARDWARE,
    hardwareId: HARDWARE_ID,
    url: null,
    version: "1.0.0",
    bootMs: () => log.now,
    systemTime: () => log.now,
  });
  await reports.refresh();
  expect(reports.hosts).toMatchObject([{ host: "alpha", ageMs: 0 }]);
  log.now += 700;
  expect(reports.hosts).toMatchObject([{ host: "alpha", ageMs: 700 }]);
});
