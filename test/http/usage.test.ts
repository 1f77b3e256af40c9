import { describe, expect, test } from "bun:test";
import { HOUR, instant, MINUTE } from "../../src/domain/time.ts";
import type { UsageReply } from "../../src/http/routes/usage.ts";
import { expectOk, expectRefusal, openAppliance, type Appliance } from "../support/appliance.ts";
import { hoursLater, minutesLater } from "../support/scenario.ts";

const USAGE = "/api/admin/v1/usage";

const asked = async (site: Appliance, query: string): Promise<UsageReply> =>
  expectOk(await site.get<UsageReply>(`${USAGE}${query}`));

const inUse = ({ licenses }: UsageReply, last: number) => licenses[0]?.in_use.slice(-last);

describe("the answer", () => {
  test.each([
    ["day", 288, 5],
    ["week", 336, 30],
    ["month", 360, 120],
  ] as const)("%s has %i steps of %i minutes", async (span, steps, step) => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam", slots: 7 } } });
    expectOk(await site.register({ user: "ada", product: "cam" }));
    const reply = await asked(site, `?range=${span}&wait=true`);
    expect(reply).toMatchObject({ range: span, step_minutes: step, complete: true, refusals: [] });
    expect(Date.parse(reply.to) - Date.parse(reply.from)).toBe(steps * step * MINUTE);
    expect(Date.parse(reply.to) % (step * MINUTE)).toBe(0);
    expect(Date.parse(reply.to)).toBeWithin(site.clock.now + 1, site.clock.now + 2 * HOUR + 1);
    expect(reply.licenses.map((one) => [one.license_id, one.product, one.floating_users])).toEqual([
      [1, "cad", 2],
      [2, "cam", 7],
    ]);
    // It exists since a moment ago: before that, nothing is known.
    const before = Array<null>(steps - 1).fill(null);
    expect(reply.licenses.map(({ in_use }) => in_use)).toEqual([
      [...before, 0],
      [...before, 1],
    ]);
  });

  test("is a day's unless something else is asked for", async () => {
    const site = await openAppliance();
    expect((await asked(site, "")).range).toBe("day");
    expect((await asked(site, "?range=")).range).toBe("day");
    expect((await asked(site, "?Range=week")).range).toBe("week");
  });

  test.each([
    ["?range=year", "invalid_parameter"],
    ["?range=DAY", "invalid_parameter"],
    ["?range=toString", "invalid_parameter"],
    ["?wait=perhaps", "invalid_boolean"],
  ])("%s is refused with %s", async (query, code) => {
    expectRefusal(await (await openAppliance()).get(`${USAGE}${query}`), 400, code);
  });

  test("is for administrators", async () => {
    const site = await openAppliance();
    await site.services.access.createToken("ops", null, "test");
    expectRefusal(await site.get(USAGE), 401, "unauthorized");
  });

  test("comes at once, without the past; and with it when that was read", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(20);
    const first = await asked(again, "");
    expect(first.complete).toBe(false);
    expect((await asked(again, "?wait=true")).complete).toBe(true);
    expect((await asked(again, "")).complete).toBe(true);
  });
});

describe("what was in use", () => {
  /** Three slots at most; ada all the time, bob for a while, and one that ran out by itself. */
  async function morning(site: Appliance): Promise<void> {
    expectOk(await site.borrow({ user: "ada", borrowed_until: "2026-03-02T20:00:00Z" }));
    site.clock.now = minutesLater(10);
    expectOk(await site.register({ user: "bob" }));
    site.clock.now = minutesLater(21);
    expectOk(await site.unregister({ user: "bob" }));
    expectOk(await site.register({ user: "eve" }));
    expectRefusal(await site.register({ user: "dan" }), 400, "floating_not_available");
  }
  const MORNING = [null, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1];

  test("is told after a restart, from a record that was folded and from a journal", async () => {
    const site = await openAppliance();
    await morning(site);
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(57);
    const reply = await asked(again, "?wait=true");
    expect(inUse(reply, 13)).toEqual(MORNING);
    expect(reply.refusals).toMatchObject([{ product: "cad", code: "floating_not_available" }]);
    expect(reply.refusals[0]?.counts.slice(-9)).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0]);
    expectOk(await again.register({ user: "dan" }));
    await asked(again, "");
    again.clock.now = hoursLater(2);
    expect(inUse(await asked(again, "?wait=true"), 26)).toEqual([
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

  test("is told of those who come and go between two looks, in the first moment of a step too", async () => {
    const site = await openAppliance();
    await asked(site, "?wait=true");
    for (const at of [minutesLater(1), minutesLater(5)]) {
      site.clock.now = at;
      expectOk(await site.register({ user: "ada" }));
      expectOk(await site.borrow({ user: "bob" }));
      expectOk(await site.unregister({ user: "ada" }));
      expectOk(await site.unregister({ user: "bob" }));
    }
    site.clock.now = minutesLater(10);
    expect(inUse(await asked(site, ""), 3)).toEqual([2, 2, 0]);
  });

  test("is the same whether it was watched or read", async () => {
    const site = await openAppliance();
    await morning(site);
    site.clock.now = minutesLater(57);
    const watched = await asked(site, "?wait=true");
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = minutesLater(57);
    const read = await asked(again, "?wait=true");
    expect(read.licenses).toEqual(watched.licenses);
    expect(inUse(read, 13)).toEqual(MORNING);
  });

  test("goes on over midnight, weeks and what the ring forgets", async () => {
    const site = await openAppliance();
    await morning(site);
    await site.stop();
    const again = await openAppliance({ licenses: {}, folder: site.folder });
    again.clock.now = hoursLater(24 * 29);
    const month = await asked(again, "?range=month&wait=true");
    const [license] = month.licenses;
    const began = instant(Date.parse(month.from));
    const busy = license?.in_use.flatMap((count, place) => (count ? [[place, count]] : []));
    const first = Math.floor((hoursLater(0) - began) / (120 * MINUTE));
    expect(busy).toEqual([0, 1, 2, 3, 4, 5].map((n) => [first + n, n < 1 ? 2 : 1]));
    again.clock.now = hoursLater(24 * 31);
    const later = await asked(again, "?range=month");
    expect(later.licenses[0]?.in_use).toEqual(Array<number>(360).fill(0));
  });
});
