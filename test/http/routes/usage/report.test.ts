import { describe, expect, test } from "bun:test";
import type { ReportReply } from "../../../../src/http/routes/usage/report-schema.ts";
import { openAppliance, type Appliance } from "../../../support/appliance.ts";
import { hoursLater, minutesLater, MONDAY } from "../../../support/scenario.ts";

const REPORT = "/api/admin/v1/report";

const getReport = async (site: Appliance, query = ""): Promise<ReportReply> => {
  const [response, body] = await site.get<ReportReply>(`${REPORT}${query}`);
  expect([response.status, body]).toMatchObject([200, {}]);
  return body;
};

describe("GET report", () => {
  test("has the figures of every pool, without any use", async () => {
    const site = await openAppliance();
    site.clock.now = hoursLater(1);
    const { pools, days, denials, people, idle } = await getReport(site);
    expect(
      pools.map(({ product, feature, limit, peak }) => [product, feature, limit, peak]),
    ).toEqual([
      ["cad", null, 2, 0],
      ["cad", "view", 1, 0],
    ]);
    expect(days).toHaveLength(2);
    expect([denials.episodes, people, idle]).toEqual([0, [], []]);
  });

  test("counts episodes that have not ended, and lists none of them", async () => {
    const site = await openAppliance();
    for (const user of ["ada", "bob", "eve"]) await site.register({ user });
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    next.clock.now = minutesLater(5);
    const { denials, episodes, pools } = await getReport(next);
    expect([denials.open, denials.episodes, episodes]).toEqual([1, 0, []]);
    expect(pools.map((pool) => [pool.feature, pool.open_episodes])).toEqual([
      [null, 1],
      ["view", 0],
    ]);
    const { denials: ofFeature } = await getReport(next, "?feature=view");
    expect(ofFeature.open).toBe(0);
  });

  test("counts slots in use, and hours at the limit", async () => {
    const site = await openAppliance();
    await site.register({ user: "ada" });
    await site.register({ user: "bob" });
    site.clock.now = minutesLater(15);
    await site.unregister({ user: "bob" });
    site.clock.now = hoursLater(1);
    const { pools, people } = await getReport(site, "?product=cad");
    expect(pools[0]).toMatchObject({
      peak: 2,
      p95: 2,
      mean: 0.75,
      hours_at_limit: 0.25,
      observed_hours: 1,
      slot_hours: 0.75,
      sessions: 2,
      people: 2,
    });
    expect(people.map(({ person, slot_hours }) => [person, slot_hours])).toEqual([
      ["ada", 0.5],
      ["bob", 0.25],
    ]);
  });

  test("lists holders without use for so many days as idle", async () => {
    const site = await openAppliance();
    await site.register({ user: "ada", os_hostname: "desk-7" });
    for (let hours = 0.4; hours <= 50; hours += 0.4) {
      site.clock.now = hoursLater(hours);
      await site.register({ user: "ada", os_hostname: "desk-7" });
    }
    expect((await getReport(site, "?idle_days=2")).idle).toMatchObject([
      { user: "ada", host: "desk-7", idle_days: 2, last_use_at: null },
    ]);
    expect((await getReport(site, "?idle_days=3")).idle).toEqual([]);
    await site.post("/api/v4/featureRegister", { user: "ada", feature: "view" });
    expect((await getReport(site, "?idle_days=2")).idle).toEqual([]);
  });

  test("names no user, host or address if it is anonymous", async () => {
    const site = await openAppliance();
    site.peer = "10.9.8.7";
    await site.register({ user: "Countess-Ada", os_hostname: "desk-of-ada" });
    site.peer = "127.0.0.1";
    site.clock.now = minutesLater(10);
    const texts = [1, 2].map(async () =>
      JSON.stringify(await getReport(site, "?anonymous=true&sessions=true&idle_days=1")),
    );
    const [first = "", second = ""] = await Promise.all(texts);
    for (const name of ["Countess", "desk-of", "10.9.8.7"]) expect(first).not.toContain(name);
    const keyOf = (text: string): string => /person-[0-9a-f]{12}/.exec(text)?.[0] ?? "";
    expect(keyOf(first)).not.toBe("");
    expect(keyOf(first)).not.toBe(keyOf(second));
  });

  test.each([
    ["from=2026-03-02T09:00:00Z&to=2026-03-02T09:00:00Z", "to must be a time after from"],
    ["from=2026-03-02T09:00:00Z", "to must be a time after from"],
    ["from=2024-01-01T00:00:00Z&to=2026-03-02T09:00:00Z", "to must be at most 600 days after from"],
    ["time_zone=Atlantis", "time_zone must be a time zone such as Europe/Berlin"],
    ["idle_days=0", "idle_days must be a whole number from 1 to 366"],
    ["rows=100001", "rows must be a whole number from 1 to 100000"],
    ["from=yesterday", "from must be an RFC 3339"],
    ["product=NONE", "no license is installed for this product"],
    ["product=cad&feature=none", "the license has no such feature"],
  ])("is refused with %s", async (query, message) => {
    const site = await openAppliance();
    const [response, body] = await site.get<{ message: string }>(`${REPORT}?${query}`);
    expect(response.status).toBe(400);
    expect(body.message).toStartWith(message);
    expect(site.clock.now).toBe(MONDAY);
  });
});
