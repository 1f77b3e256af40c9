import { describe, expect, test } from "bun:test";
import type { WhatIfReply } from "../../../../src/http/routes/usage/what-if.ts";
import { openAppliance, type Appliance } from "../../../support/appliance.ts";
import { later, MINUTE } from "../../../../src/domain/time.ts";
import { hoursLater, minutesLater } from "../../../support/scenario.ts";

const WHAT_IF = "/api/admin/v1/report/what-if";

/** Two slots; three users want one at nine, and one of them gives up after two minutes. */
async function openBusySite(): Promise<Appliance> {
  const site = await openAppliance();
  await site.register({ user: "ada" });
  await site.register({ user: "bob" });
  for (const minute of [1, 2, 3]) {
    site.clock.now = minutesLater(minute);
    await site.register({ user: "cy" });
  }
  site.clock.now = minutesLater(10);
  await site.unregister({ user: "ada" });
  await site.unregister({ user: "bob" });
  site.clock.now = hoursLater(1);
  // The denied episode has ended; it is written when it is settled by the next refusal or grant.
  await site.register({ user: "cy" });
  await site.stop();
  const again = await openAppliance({ folder: site.folder, licenses: {} });
  again.clock.now = hoursLater(1.2);
  return again;
}

const getWhatIf = async (site: Appliance, query: string): Promise<WhatIfReply> => {
  const [response, body] = await site.get<WhatIfReply>(`${WHAT_IF}?${query}`);
  expect([response.status, body]).toMatchObject([200, {}]);
  return body;
};

describe("GET report/what-if", () => {
  test("reproduces the recorded refusals, and says which number would have been enough", async () => {
    const site = await openBusySite();
    const reply = await getWhatIf(site, "product=cad&slots=1..4");
    expect(reply.recorded).toMatchObject({
      needs: 4,
      met_at_once: 3,
      met_after_waiting: 0,
      not_met: 1,
    });
    // The episode has a first and a last refusal.
    expect(reply.check).toEqual({
      refusals: 2,
      refusals_reproduced: 2,
      grants: 3,
      grants_reproduced: 3,
    });
    expect(
      reply.rows.map(({ slots, estimated, met_at_once }) => [slots, estimated, met_at_once]),
    ).toEqual([
      [1, true, 2],
      [2, false, 3],
      [3, true, 4],
      [4, true, 4],
    ]);
    expect([reply.target_percent, reply.target_slots]).toEqual([99, 3]);
    expect(reply.mean_session_seconds).toBe(600);
  });

  test("assumes that a user who gave up stays as long as the mean session", async () => {
    const site = await openAppliance();
    for (const [user, minutes] of [
      ["ada", 10],
      ["bob", 10],
      ["cy", 55],
    ] as const) {
      const start = site.clock.now;
      for (let minute = 0; minute < minutes; minute += 5) {
        site.clock.now = later(start, minute * MINUTE);
        expect((await site.register({ user }))[0].status).toBe(200);
      }
      site.clock.now = later(start, minutes * MINUTE);
      await site.unregister({ user });
    }
    await site.stop();
    const again = await openAppliance({ folder: site.folder, licenses: {} });
    again.clock.now = later(site.clock.now, MINUTE);
    const reply = await getWhatIf(again, "product=cad&slots=2");
    expect(reply.mean_session_seconds).toBe(25 * 60);
  });

  test("finds no number of slots if none of the range is enough", async () => {
    const site = await openBusySite();
    const reply = await getWhatIf(site, "product=cad&slots=0..1&target=100");
    expect([reply.target_percent, reply.target_slots]).toEqual([100, null]);
  });

  test.each([
    ["slots=1..4", "product must be given"],
    ["product=cad", "slots must be a range such as 4..20"],
    ["product=cad&slots=4..1", "slots must be a range such as 4..20"],
    ["product=cad&slots=1..101", "slots must be a range such as 4..20"],
    ["product=cad&slots=1..4&target=101", "target must be a whole number from 1 to 100"],
    ["product=none&slots=1..4", "no license is installed for this product"],
    ["product=cad&feature=none&slots=1..4", "the license has no such feature"],
  ])("is refused with %s", async (query, message) => {
    const site = await openAppliance();
    const [response, body] = await site.get<{ message: string }>(`${WHAT_IF}?${query}`);
    expect(response.status).toBe(400);
    expect(body.message).toStartWith(message);
  });
});
