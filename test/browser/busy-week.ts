// Creates a site as it is after an ordinary week: users register in the morning and leave in the
// evening, one borrows a slot, and at times all slots are taken.
import type { AddConsumption } from "../../src/domain/consumption/add-consumption.ts";
import type { ClosedEpisode } from "../../src/domain/model/demand/episode.ts";
import type { Borrow } from "../../src/domain/slots/borrow.ts";
import { instant, later, HOUR, MINUTE, type Instant } from "../../src/domain/time.ts";
import type { Store } from "../../src/store/store.ts";
import { unwrap } from "../support/licensed-store.ts";
import { consumptionTerms, terms } from "../support/scenario.ts";
import { installNewLicense, openSiteFolder } from "../support/site-folder.ts";
import { makeContact } from "../support/contact.ts";

const USERS = [
  ["ada.lovelace", "ws-03.design", "10.20.1.13"],
  ["b.johnson", "ws-07.design", "10.20.1.17"],
  ["c.mendoza", "ws-11.design", "10.20.1.21"],
  ["d.okafor", "ws-12.design", "10.20.1.22"],
  ["e.lindqvist", "lab-02", "10.20.4.2"],
  ["f.tanaka", "lab-05", "10.20.4.5"],
  ["g.moreau", "ws-19.design", "10.20.1.29"],
  ["h.novak", "field-laptop-4", "10.20.9.14"],
  ["i.rossi", "ws-23.design", "10.20.1.33"],
] as const;

/** How many users are at work, by the hour of the day. */
const USERS_AT_WORK = [0, 0, 0, 0, 0, 1, 2, 5, 7, 8, 9, 9, 7, 8, 9, 9, 8, 6, 4, 2, 2, 1, 1, 0];

const WEEK = 7 * 24;
const now = Date.now();

/** The week ends a minute ago; its last hour is always a busy one. */
export async function createBusyWeek(folder: string): Promise<void> {
  const clock = { now: instant(now - (WEEK + 1) * HOUR) };
  const site = await openSiteFolder(folder, () => clock.now);
  const { store } = site;
  const validUntil = instant(now + 20 * 24 * HOUR);
  for (const differing of [
    { product: "CAD", slots: 12, timeoutMinutes: TIMEOUT_MINUTES, borrowHours: 24 * 14 },
    { product: "MESH", slots: 4, timeoutMinutes: TIMEOUT_MINUTES },
    {
      product: "RENDER",
      type: "time-limited" as const,
      slots: 8,
      consumption: consumptionTerms({ max: 1_000 }),
      validUntil,
    },
  ]) {
    await installNewLicense(site, terms({ ...differing, productName: differing.product }));
  }
  for (let hour = WEEK; hour >= 0; hour -= 1) {
    clock.now = instant(now - hour * HOUR - MINUTE);
    await setUsersAtWork(store, hour === 0 ? 8 : countUsersAtWork(clock.now), clock.now);
  }
  unwrap(await store.transact(borrowFor(clock.now), () => null));
  unwrap(await store.transact(ADD_CONSUMPTION, () => null));
  await site.close();
}

const TIMEOUT_MINUTES = 12 * 60;

function countUsersAtWork(at: Instant): number {
  const date = new Date(at);
  const isWeekend = date.getUTCDay() % 6 === 0;
  return isWeekend ? 1 : (USERS_AT_WORK[date.getUTCHours()] ?? 0);
}

/** Registers the first `count` users, and unregisters the others. */
async function setUsersAtWork(store: Store, count: number, at: Instant): Promise<void> {
  for (const [index, [user, hostname, ip]] of USERS.entries()) {
    const contact = makeContact({ hostname, ip, peer: ip });
    for (const product of index < 4 ? ["CAD", "MESH"] : ["CAD"]) {
      const target = { product, licenseId: null, user };
      await (index < count
        ? store.transact(
            { type: "Register", ...target, contact, identity: null, nonceDigest: null },
            () => null,
          )
        : store.transact({ type: "Unregister", ...target, by: "user", peer: ip }, () => null));
    }
  }
  if (count < 7) return;
  const refusal = {
    product: "MESH",
    feature: null,
    code: "floating_not_available",
    count: count - 6,
  };
  const refusals = [{ ...refusal, users: ["f.tanaka", "i.rossi"] }];
  unwrap(await store.transact({ type: "CountRefusals", refusals }, () => null));
  const episodes = [deniedEpisode("f.tanaka", "10.20.4.5", at)];
  unwrap(await store.transact({ type: "EndEpisodes", episodes }, () => null));
}

const deniedEpisode = (user: string, peer: string, at: Instant): ClosedEpisode => ({
  product: "MESH",
  feature: null,
  user,
  code: "floating_not_available",
  rule: null,
  peer,
  firstAt: at,
  lastAt: at,
  attempts: 1,
  firstSeq: 1,
  lastSeq: 1,
  outcome: "gave_up",
  endedAt: at,
});

const borrowFor = (at: Instant): Borrow => ({
  type: "Borrow",
  product: "CAD",
  licenseId: null,
  user: "h.novak",
  contact: makeContact({
    hostname: "field-laptop-4",
    ip: "10.20.9.14",
    info: "sea trial",
    peer: "10.20.9.14",
  }),
  until: later(at, 9 * 24 * HOUR),
  nonceDigest: null,
  identity: null,
  once: null,
});

const ADD_CONSUMPTION: AddConsumption = {
  type: "AddConsumption",
  product: "RENDER",
  licenseId: null,
  user: null,
  peer: "10.20.4.2",
  count: 640,
  allowOverages: null,
  maxOverages: null,
  once: null,
};
