// A standby database that lacks acknowledged lines is promoted: both hosts must name it.
import { describe, expect, onTestFinished, test } from "bun:test";
import { Leadership } from "../../src/operations/pair/leadership.ts";
import { openPostgresLog } from "../../src/store/log/postgres/open-log.ts";
import type { PostgresLog } from "../../src/store/log/postgres/postgres-log.ts";
import type { LogFolder } from "../../src/store/store-options.ts";
import {
  openLicensedSite,
  openSite,
  transactCommand,
  type OpenSite,
} from "../support/licensed-store.ts";
import { atEnd } from "../support/suite-harness.ts";
import { HARDWARE, HARDWARE_ID } from "../support/new-site.ts";
import { register } from "../support/scenario.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { logUrlOf, PATIENT, runSql } from "./test-databases.ts";

const primary = PostgresCluster.start();
atEnd(() => primary.remove());
const standby = primary.startStandby("standby");
atEnd(() => standby.remove());

const url = logUrlOf(
  `postgres://berth@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`,
);

interface Host {
  readonly site: OpenSite;
  readonly log: PostgresLog;
  readonly leadership: Leadership;
}

/** Opens a folder as a host of the pair. */
async function openHost(folder: string): Promise<Host> {
  let log: PostgresLog | null = null;
  const options = { ...PATIENT, url, host: "alpha", clientUrl: null };
  const site = await openSite({
    folder,
    openLog: async (logFolder: LogFolder) => (log = await openPostgresLog(options, logFolder)),
  });
  if (log === null) throw new Error("the log was not opened");
  const leadership = new Leadership({
    store: site.store,
    log,
    host: "alpha",
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
    url: null,
    version: "1.0.0",
    termMs: 1_000,
    pollMs: 100,
    bootMs: () => performance.now(),
    systemTime: Date.now,
  });
  return { site, log, leadership };
}

const registerUser = async ({ site }: Host, user: string): Promise<boolean> =>
  (await transactCommand(site.store, register(user))).ok;

/** Steps until the host leads; false: it never does. */
const leads = async ({ leadership }: Host): Promise<boolean> => {
  await leadership.step();
  return leadership.mayAnswer();
};

describe("an asynchronous standby that lacks lines and is promoted", () => {
  test("is an exposure before; then the host says which lines are lost, until a server has them", async () => {
    const first = await openLicensedSite();
    const { folder } = first;
    await first.stop();
    const host = await openHost(folder);
    onTestFinished(() => host.log.close());
    await waitUntil(() => leads(host));
    await waitUntil(async () => (await runSql(primary, "TABLE pg_stat_replication")).length > 0);
    expect(await host.log.readDatabase()).toMatchObject({
      replication: "none",
      problems: ["asynchronous"],
    });
    standby.stopServer("fast");
    await waitUntil(() => leads(host));
    expect(await registerUser(host, "ada")).toBe(true);
    const { head } = host.site.store.status();
    primary.stopServer("immediate");
    standby.startServer();
    standby.promote();

    await waitUntil(async () => {
      await host.leadership.step();
      return host.leadership.problem?.includes("the database lost lines") === true;
    });
    expect(host.leadership.problem).toContain(`to line ${head.seq} (${head.sum})`);
    expect(host.leadership.problem).toMatch(/the log ends at line \d+ \([0-9a-f]{64}\)/);
    expect(host.leadership.mayAnswer()).toBe(false);
    expect(await registerUser(host, "bob")).toBe(false);

    // The repair that the guide describes: the host was not started again.
    standby.stopServer("fast");
    primary.startServer();
    await waitUntil(() => leads(host));
    expect(host.leadership.problem).toBeNull();
    expect(await registerUser(host, "bob")).toBe(true);

    primary.stopServer("immediate");
    standby.startServer();
    await host.site.stop();
    const outcome = await openHost(folder).then(() => "opened", String);
    expect(outcome).toContain("the database lost lines");
  });
});
