// The conditions of a real appliance, as syslog lines; time passes only in the test.
import { describe, expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import { defaultValues } from "../../../src/cli/frame/define-command.ts";
import { LiveSettings } from "../../../src/cli/serve/live-settings.ts";
import { createNotifier } from "../../../src/cli/serve/notifications.ts";
import { settings, type ServeSettings } from "../../../src/cli/serve/settings.ts";
import { DAY, later, MINUTE } from "../../../src/domain/time.ts";
import type { Notifier } from "../../../src/operations/notifications/notifier.ts";
import type { Leadership } from "../../../src/operations/pair/leadership.ts";
import type { PairMembership } from "../../../src/operations/pair/pair-membership.ts";
import { Appliance, expectOk, expectRefusal, openAppliance } from "../../support/appliance.ts";
import { openDatagramSocket } from "../../support/datagram-socket.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { HEALTHY_PAIR, withBeta } from "../../support/pair-status.ts";
import { holdProcessClock } from "../../support/process-clock.ts";
import { MONDAY } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Checks an appliance at given minutes, and returns the syslog lines since the last check. */
class Watch {
  readonly #notifier: Notifier;
  readonly #messages: () => string[];
  #minute = 0;
  #read = 0;

  constructor({ services, folder }: Appliance, differing: Partial<ServeSettings>) {
    const path = join(tempFolder(), "log");
    this.#messages = openDatagramSocket(path);
    const current = { ...defaultValues(settings), data: folder, eventSyslog: { path } };
    const live = new LiveSettings({
      settings: { ...current, ...differing },
      setOptions: [],
      environment: {},
    });
    this.#notifier = createNotifier(
      live,
      () => services,
      () => this.#minute * MINUTE,
    );
  }

  /** Expects these lines after a check; one line too many fails this call or the next one. */
  async expectAt(minute: number, expected: readonly string[]): Promise<void> {
    this.#minute = minute;
    await this.#notifier.check();
    const readNew = (): string[] => this.#messages().slice(this.#read);
    await waitUntil(() => readNew().length >= expected.length);
    const lines = readNew().map((line) => line.replace(/^<\d+>.* berth\[\d+\]: /, ""));
    this.#read += lines.length;
    expect([minute, lines]).toEqual([minute, [...expected]]);
  }

  /** No line is waiting. */
  async end(): Promise<void> {
    await this.#notifier.stop();
    expect(this.#messages().slice(this.#read)).toEqual([]);
  }
}

const FULL = "CAD: all 2 slots have been in use for 15 minutes or longer";
const FREE_SLOTS = "See who uses them, or request more slots";

describe("notifications of an appliance", () => {
  test("report a pool that is full for 15 minutes, and that it has a free slot again", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "CAD", slots: 2 } } });
    const watch = new Watch(site, { events: ["pool_full"] });
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user }));
    await watch.expectAt(0, []);
    await watch.expectAt(14, []);
    await watch.expectAt(15, [`pool_full raised CAD: ${FULL}. ${FREE_SLOTS}`]);
    await watch.expectAt(16, []);
    expectOk(await site.unregister({ user: "ada" }));
    await watch.expectAt(17, [`pool_full cleared CAD: ${FULL}`]);
    await watch.end();
  });

  test("report denied demand while an episode is open, without a name", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "CAD", slots: 1 } } });
    const watch = new Watch(site, { events: ["demand_denied"] });
    expectOk(await site.register({ user: "ada" }));
    await watch.expectAt(0, []);
    const refused = "CAD: users are refused a slot";
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const [response] = await site.register({ user: "bob" });
      expect(response.status).toBe(400);
    }
    await watch.expectAt(1, [
      `demand_denied raised CAD: ${refused}. See who uses the slots, or request more`,
    ]);
    await watch.expectAt(2, []);
    expectOk(await site.unregister({ user: "ada" }));
    expectOk(await site.register({ user: "bob" }));
    await watch.expectAt(3, [`demand_denied cleared CAD: ${refused}`]);
    await watch.end();
  });

  test("report a disk that does not answer, and end nothing else meanwhile", async () => {
    const disk = new FaultyDisk();
    onTestFinished(() => disk.clearFaults());
    const licenses = { 1: { product: "CAD", slots: 1 } };
    const site = await openAppliance({ licenses, disk });
    const watch = new Watch(site, { events: ["slots_full", "disk_failed"] });
    expectOk(await site.register({ user: "ada" }));
    await watch.expectAt(0, [`slots_full raised CAD: CAD: the only slot is in use. ${FREE_SLOTS}`]);
    const clock = holdProcessClock();
    const syncs = disk.block("syncData");
    const waiting = site.unregister({ user: "ada" });
    await waitUntil(() => syncs.count === 1);
    clock.ms += 15_001;
    expectRefusal(await waiting, 503, "storage_failed");
    const hangs = `The disk of ${site.folder} does not answer: calls wait, or are refused`;
    await watch.expectAt(1, [
      `disk_failed raised: ${hangs}. Check the disk, or the network to it; the server continues by itself when it answers`,
    ]);
    await watch.expectAt(2, []);
    syncs.releaseAll();
    await waitUntil(() => site.applianceStatus.storageStatus().fault === null);
    await watch.expectAt(3, [
      "slots_full cleared CAD: CAD: the only slot is in use",
      `disk_failed cleared: ${hangs}`,
    ]);
    await watch.end();
  });

  test("report the findings that the settings choose, and no others", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "CAD", slots: 1 } } });
    const watch = new Watch(site, { events: ["slots_full"] });
    await watch.expectAt(0, []);
    expectOk(await site.register({ user: "ada" }));
    await watch.expectAt(1, [`slots_full raised CAD: CAD: the only slot is in use. ${FREE_SLOTS}`]);
    await watch.end();
  });

  test("report a license that ends soon, and then that it has ended", async () => {
    const site = await openAppliance({
      licenses: { 1: { product: "CAD", slots: 1, validUntil: later(MONDAY, 40 * DAY) } },
    });
    const watch = new Watch(site, {});
    await watch.expectAt(0, []);
    site.clock.now = later(MONDAY, 11 * DAY);
    const soon = "CAD expires in 29 days";
    await watch.expectAt(1, [`license_expiring raised CAD: ${soon}. Request a renewal`]);
    site.clock.now = later(MONDAY, 40 * DAY);
    await watch.expectAt(2, [
      `license_expiring cleared CAD: ${soon}`,
      "license_expired raised CAD: CAD: license expired, no slots available. Request a new license",
    ]);
    await watch.end();
  });
});

describe("notifications of a host of a pair", () => {
  /** Without a license the leader has a note, which is no event. */
  async function openHost(mayAnswer: boolean) {
    const { services, clock, folder } = await openAppliance({ licenses: {} });
    const pair = { status: HEALTHY_PAIR };
    const leadership = { mayAnswer: () => mayAnswer } as unknown as Leadership;
    const pairMembership = { status: () => pair.status } as unknown as PairMembership;
    const host = new Appliance({ ...services, leadership, pairMembership }, clock, folder);
    return { pair, watch: new Watch(host, { events: ["default"] }) };
  }

  const SILENT = "Host beta has not reported for 2 minutes: it cannot take over";
  const START = "Start the service on beta, and check its network and its log";

  test.each([
    ["the leader", true],
    ["the host on standby", false],
  ])("report on %s that the other host is silent, and that it reports again", async (_, leads) => {
    const { pair, watch } = await openHost(leads);
    await watch.expectAt(0, []);
    pair.status = withBeta({ seenMsAgo: 2 * MINUTE });
    await watch.expectAt(1, [`pair_host_silent raised beta: ${SILENT}. ${START}`]);
    pair.status = HEALTHY_PAIR;
    await watch.expectAt(2, [`pair_host_silent cleared beta: ${SILENT}`]);
    await watch.end();
  });

  test("report a change of the leader", async () => {
    const { pair, watch } = await openHost(true);
    await watch.expectAt(0, []);
    pair.status = { ...HEALTHY_PAIR, leader: "beta", epoch: 4, leadsSince: MONDAY };
    await watch.expectAt(1, [
      expect.stringContaining("pair_leader_changed raised beta: Host beta leads the pair now"),
    ] as string[]);
    await watch.end();
  });
});
