import { expect, test } from "bun:test";
import { MINUTE, later } from "../../../../src/domain/time.ts";
import type { AuditPageReply } from "../../../../src/http/routes/audit/audit-log.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { readJournal, unwrap } from "../../../support/licensed-store.ts";
import { featureTerms, MONDAY } from "../../../support/scenario.ts";

const NO_SLOT = "floating_not_available";

/** Ada has the only slot; the feature has none. */
async function openFullSite(): Promise<Appliance> {
  const mesh = featureTerms("mesh", { floating: { slots: 0, timeoutMinutes: 30 } });
  const site = await openAppliance({ licenses: { 1: { slots: 1, features: [mesh] } } });
  expectOk(await site.register({ user: "ada" }));
  return site;
}

const readEpisodes = async (site: Appliance, query: string) => {
  const page = await site.get<AuditPageReply>(`/api/admin/v1/audit?type=EpisodeEnded${query}`);
  return expectOk(page).events.map(({ user, summary }) => `${user}: ${summary}`);
};

test("denied episodes are in the audit log by user, product and text, with all their members", async () => {
  const site = await openFullSite();
  for (const minute of [0, 1, 4]) {
    site.clock.now = later(MONDAY, minute * MINUTE);
    expectRefusal(await site.register({ user: "bob" }), 400, NO_SLOT);
    expectRefusal(await site.featureRegister({ user: "ada", feature: "mesh" }), 400, NO_SLOT);
  }
  expectOk(await site.unregister({ user: "ada" }));
  expectOk(await site.register({ user: "bob" }));
  await site.stop();
  const next = await openAppliance({ folder: site.folder, licenses: {} });
  const bob = `bob: slot denied 3 times in 4 minutes, then granted: ${NO_SLOT}`;
  const ada = `ada: slot of feature mesh denied 3 times in 4 minutes, then left: ${NO_SLOT}`;
  expect(await readEpisodes(next, "")).toEqual([bob, ada]);
  expect(await readEpisodes(next, "&user=ada")).toEqual([ada]);
  expect(await readEpisodes(next, "&product=cad")).toEqual([bob, ada]);
  expect(await readEpisodes(next, "&product=cam")).toEqual([]);
  expect(await readEpisodes(next, "&text=gave_up")).toEqual([]);
  const page = await next.get<AuditPageReply>("/api/admin/v1/audit?type=EpisodeEnded&user=ada");
  const [{ seq: _seq, detail, ...entry } = { seq: 0, detail: {} }] = expectOk(page).events;
  expect(entry).toMatchObject({ product: "cad", license_id: null, peer: "127.0.0.1" });
  expect(detail).toEqual({
    feature: "mesh",
    code: NO_SLOT,
    rule: null,
    first_at: "2026-03-02T09:00:00.000Z",
    last_at: "2026-03-02T09:04:00.000Z",
    attempts: 3,
    outcome: "left",
    ended_at: "2026-03-02T09:04:00.000Z",
    first_seq: expect.any(Number),
    last_seq: expect.any(Number),
  });
  expect(expectOk(await next.status()).refusals).toEqual([
    { product: "cad", feature: null, code: NO_SLOT, count: 3 },
    { product: "cad", feature: "mesh", code: NO_SLOT, count: 3 },
  ]);
});

test("a move to another host takes the refusals of the last minute along", async () => {
  const site = await openFullSite();
  expectRefusal(await site.register({ user: "bob" }), 400, NO_SLOT);
  unwrap(await site.services.hostMove.moveAway("socket"));
  const types = readJournal(site.folder).flatMap(({ line }) => line.events.map(({ type }) => type));
  expect(types.slice(-3).toSorted()).toEqual(["EpisodesObserved", "MovedAway", "RefusalsCounted"]);
  expect(types.at(-1)).toBe("MovedAway");
});
