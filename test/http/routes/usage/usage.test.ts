import { describe, expect, test } from "bun:test";
import { DAY, MINUTE } from "../../../../src/domain/time.ts";
import type { UsageReply } from "../../../../src/http/routes/usage/usage.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { featureTerms, hoursLater, minutesLater } from "../../../support/scenario.ts";

const USAGE = "/api/admin/v1/usage";

const readUsage = async (site: Appliance, query: string): Promise<UsageReply> =>
  expectOk(await site.get<UsageReply>(`${USAGE}${query}`));

const lastPeaks = ({ pools }: UsageReply, last: number) => pools[0]?.peak.slice(-last);

describe("GET usage", () => {
  test.each([
    ["day", 288, 5],
    ["week", 336, 30],
    ["month", 360, 120],
    ["quarter", 364, 360],
    ["year", 365, 1_440],
    ["18months", 274, 2_880],
  ] as const)("for %s has %i steps of %i minutes", async (range, steps, step) => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam", slots: 7 } } });
    expectOk(await site.register({ user: "ada", product: "cam" }));
    site.clock.now = minutesLater(1);
    const reply = await readUsage(site, `?range=${range}`);
    expect(reply).toMatchObject({ range, step_minutes: step });
    expect(Date.parse(reply.to) - Date.parse(reply.from)).toBe(steps * step * MINUTE);
    expect(Date.parse(reply.to) % (step * MINUTE)).toBe(0);
    expect(Date.parse(reply.to)).toBeWithin(site.clock.now + 1, site.clock.now + 2 * DAY + 1);
    // The appliance was created just now, so there are no numbers for the time before.
    const before = Array<null>(steps - 1).fill(null);
    expect(reply.pools.map(({ product, limit, peak }) => [product, limit, peak])).toEqual([
      ["cad", [...before, 2], [...before, 0]],
      ["cam", [...before, 7], [...before, 1]],
    ]);
  });

  test("covers a day unless a range is given", async () => {
    const site = await openAppliance();
    for (const query of ["", "?range="]) expect((await readUsage(site, query)).range).toBe("day");
  });

  test("chooses the step of a period from its length", async () => {
    const site = await openAppliance();
    site.clock.now = hoursLater(24 * 200);
    const at = (days: number): string => new Date(hoursLater(24 * days)).toISOString();
    for (const [from, to, step] of [
      [199, 200, 5],
      [190, 200, 60],
      [1, 2, 60],
      [1, 200, 720],
    ] as const) {
      const reply = await readUsage(site, `?from=${at(from)}&to=${at(to)}`);
      expect([reply.range, reply.step_minutes]).toEqual([null, step]);
      expect(reply.pools[0]?.peak.length).toBeLessThanOrEqual(400);
    }
  });

  test.each([
    ["?range=decade", "invalid_parameter"],
    ["?range=toString", "invalid_parameter"],
    ["?from=2026-03-02T09:00:00Z&to=2026-03-02T09:00:00Z", "invalid_parameter"],
    ["?to=2026-03-02T09:00:00Z", "invalid_parameter"],
    ["?from=yesterday", "invalid_timestamp"],
  ])("with %s is refused with %s", async (query, code) => {
    expectRefusal(await (await openAppliance()).get(`${USAGE}${query}`), 400, code);
  });

  test("is refused without a credential once one exists", async () => {
    const site = await openAppliance();
    await site.services.access.createToken("ops", null, "test");
    expectRefusal(await site.get(USAGE), 401, "unauthorized");
  });

  test("shows only the wanted product", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    site.clock.now = minutesLater(1);
    const reply = await readUsage(site, "?product=cam");
    expect(reply.pools.map(({ product }) => product)).toEqual(["cam"]);
  });
});

describe("the slots in use of GET usage", () => {
  /** Ada borrows all the time, bob registers for a while, eve's slot expires. */
  async function simulateMorning(site: Appliance): Promise<void> {
    expectOk(await site.borrow({ user: "ada", borrowed_until: "2026-03-02T20:00:00Z" }));
    site.clock.now = minutesLater(10);
    expectOk(await site.register({ user: "bob" }));
    site.clock.now = minutesLater(21);
    expectOk(await site.unregister({ user: "bob" }));
    expectOk(await site.register({ user: "eve" }));
  }
  const FULL_SECONDS = [null, 0, 0, 300, 300, 300, 300, 300, 300, 300, 300, 60, 0];
  const MORNING = [null, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1];

  test("are the same when counted live and when read after a restart", async () => {
    const site = await openAppliance();
    await simulateMorning(site);
    site.clock.now = minutesLater(57);
    const live = await readUsage(site, "");
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(57);
    const read = await readUsage(again, "");
    expect(read.pools).toEqual(live.pools);
    expect(lastPeaks(read, 13)).toEqual(MORNING);
    const [pool] = read.pools;
    expect(pool?.full_seconds.slice(-13)).toEqual(FULL_SECONDS);
    expect(pool?.mean.slice(-2)).toEqual([1.2, 1]);
    expect(pool?.borrowed.slice(-2)).toEqual([1, 1]);
  });

  test("of a feature are apart from those of its product", async () => {
    const view = featureTerms("view", { floating: { slots: 4, timeoutMinutes: 30 } });
    const site = await openAppliance({ licenses: { 1: { features: [view] } } });
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = minutesLater(1);
    const { pools } = await readUsage(site, "");
    expect(pools.map((p) => [p.feature, p.limit.at(-1), p.peak.at(-1)])).toEqual([
      [null, 2, 1],
      ["view", 4, 0],
    ]);
  });

  test("cover a month, and leave out what is older", async () => {
    const site = await openAppliance();
    await simulateMorning(site);
    site.clock.now = hoursLater(24 * 29);
    const month = await readUsage(site, "?range=month");
    expect(month.pools[0]?.peak.filter((peak) => (peak ?? 0) > 0)).toEqual([2, 1, 1, 1, 1, 1]);
    site.clock.now = hoursLater(24 * 31);
    expect((await readUsage(site, "?range=month")).pools[0]?.peak).toEqual(
      Array<number>(360).fill(0),
    );
  });
});
