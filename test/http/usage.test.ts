import { describe, expect, test } from "bun:test";
import { HOUR, instant, MINUTE } from "../../src/domain/time.ts";
import type { UsageReply } from "../../src/http/routes/usage.ts";
import { expectOk, expectRefusal, openAppliance, type Appliance } from "../support/appliance.ts";
import { hoursLater, minutesLater } from "../support/scenario.ts";

const USAGE = "/api/admin/v1/usage";

const readUsage = async (site: Appliance, query: string): Promise<UsageReply> =>
  expectOk(await site.get<UsageReply>(`${USAGE}${query}`));

const lastCounts = ({ licenses }: UsageReply, last: number) => licenses[0]?.in_use.slice(-last);

describe("GET usage", () => {
  test.each([
    ["day", 288, 5],
    ["week", 336, 30],
    ["month", 360, 120],
  ] as const)("for a %s has %i steps of %i minutes", async (range, steps, step) => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam", slots: 7 } } });
    expectOk(await site.register({ user: "ada", product: "cam" }));
    const reply = await readUsage(site, `?range=${range}&wait=true`);
    expect(reply).toMatchObject({ range, step_minutes: step, complete: true, refusals: [] });
    expect(Date.parse(reply.to) - Date.parse(reply.from)).toBe(steps * step * MINUTE);
    expect(Date.parse(reply.to) % (step * MINUTE)).toBe(0);
    expect(Date.parse(reply.to)).toBeWithin(site.clock.now + 1, site.clock.now + 2 * HOUR + 1);
    expect(
      reply.licenses.map((license) => [
        license.license_id,
        license.product,
        license.floating_users,
      ]),
    ).toEqual([
      [1, "cad", 2],
      [2, "cam", 7],
    ]);
    // The appliance was created just now, so there are no numbers for the time before.
    const before = Array<null>(steps - 1).fill(null);
    expect(reply.licenses.map(({ in_use }) => in_use)).toEqual([
      [...before, 0],
      [...before, 1],
    ]);
  });

  test("covers a day unless a range is given", async () => {
    const site = await openAppliance();
    expect((await readUsage(site, "")).range).toBe("day");
    expect((await readUsage(site, "?range=")).range).toBe("day");
    expect((await readUsage(site, "?Range=week")).range).toBe("week");
  });

  test.each([
    ["?range=year", "invalid_parameter"],
    ["?range=DAY", "invalid_parameter"],
    ["?range=toString", "invalid_parameter"],
    ["?wait=perhaps", "invalid_boolean"],
  ])("with %s is refused with %s", async (query, code) => {
    expectRefusal(await (await openAppliance()).get(`${USAGE}${query}`), 400, code);
  });

  test("is refused without a credential once one exists", async () => {
    const site = await openAppliance();
    await site.services.access.createToken("ops", null, "test");
    expectRefusal(await site.get(USAGE), 401, "unauthorized");
  });

  test("replies at once with complete false until the past is read", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(20);
    const first = await readUsage(again, "");
    expect(first.complete).toBe(false);
    expect((await readUsage(again, "?wait=true")).complete).toBe(true);
    expect((await readUsage(again, "")).complete).toBe(true);
  });
});

describe("the slots in use of GET usage", () => {
  /** Ada borrows all the time, bob registers for a while, eve's slot expires, dan is refused. */
  async function simulateMorning(site: Appliance): Promise<void> {
    expectOk(await site.borrow({ user: "ada", borrowed_until: "2026-03-02T20:00:00Z" }));
    site.clock.now = minutesLater(10);
    expectOk(await site.register({ user: "bob" }));
    site.clock.now = minutesLater(21);
    expectOk(await site.unregister({ user: "bob" }));
    expectOk(await site.register({ user: "eve" }));
    expectRefusal(await site.register({ user: "dan" }), 400, "floating_not_available");
  }
  const MORNING = [null, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1];

  test("are complete after a restart, read from the audit log files and from the journal", async () => {
    const site = await openAppliance();
    await simulateMorning(site);
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(57);
    const reply = await readUsage(again, "?wait=true");
    expect(lastCounts(reply, 13)).toEqual(MORNING);
    expect(reply.refusals).toMatchObject([{ product: "cad", code: "floating_not_available" }]);
    expect(reply.refusals[0]?.counts.slice(-9)).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0]);
    expectOk(await again.register({ user: "dan" }));
    await readUsage(again, "");
    again.clock.now = hoursLater(2);
    expect(lastCounts(await readUsage(again, "?wait=true"), 26)).toEqual([
      ...MORNING.slice(0, 12),
      2,
      2,
      2,
      2,
      2,
      2,
      2,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
    ]);
  });

  test("include users who come and go between two reads, also at the start of a step", async () => {
    const site = await openAppliance();
    await readUsage(site, "?wait=true");
    for (const at of [minutesLater(1), minutesLater(5)]) {
      site.clock.now = at;
      expectOk(await site.register({ user: "ada" }));
      expectOk(await site.borrow({ user: "bob" }));
      expectOk(await site.unregister({ user: "ada" }));
      expectOk(await site.unregister({ user: "bob" }));
    }
    site.clock.now = minutesLater(10);
    expect(lastCounts(await readUsage(site, ""), 3)).toEqual([2, 2, 0]);
  });

  test("are the same when counted live and when read after a restart", async () => {
    const site = await openAppliance();
    await simulateMorning(site);
    site.clock.now = minutesLater(57);
    const live = await readUsage(site, "?wait=true");
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(57);
    const read = await readUsage(again, "?wait=true");
    expect(read.licenses).toEqual(live.licenses);
    expect(lastCounts(read, 13)).toEqual(MORNING);
  });

  test("cover a month, and older steps are dropped from the ring buffer", async () => {
    const site = await openAppliance();
    await simulateMorning(site);
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = hoursLater(24 * 29);
    const month = await readUsage(again, "?range=month&wait=true");
    const [license] = month.licenses;
    const start = instant(Date.parse(month.from));
    const busySteps = license?.in_use.flatMap((count, index) => (count ? [[index, count]] : []));
    const first = Math.floor((hoursLater(0) - start) / (120 * MINUTE));
    expect(busySteps).toEqual([0, 1, 2, 3, 4, 5].map((n) => [first + n, n < 1 ? 2 : 1]));
    again.clock.now = hoursLater(24 * 31);
    const later = await readUsage(again, "?range=month");
    expect(later.licenses[0]?.in_use).toEqual(Array<number>(360).fill(0));
  });
});
