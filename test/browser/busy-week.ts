// A site as it is after an ordinary week: people came in the morning and went in the evening, some
// took a slot along, and at times there were too few.
import type { AddConsumption, Borrow } from "../../src/domain/command.ts";
import { instant, later, HOUR, MINUTE, type Instant } from "../../src/domain/time.ts";
import type { Store } from "../../src/store/store.ts";
import { unwrap } from "../support/licensed-store.ts";
import { consumptionTerms, terms } from "../support/scenario.ts";
import { installNewLicense, openSiteFolder } from "../support/site-folder.ts";

const PEOPLE = [
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

/** How many are at their desks, by the hour of the day. */
const AT_WORK = [0, 0, 0, 0, 0, 1, 2, 5, 7, 8, 9, 9, 7, 8, 9, 9, 8, 6, 4, 2, 2, 1, 1, 0];

const WEEK = 7 * 24;
const now = Date.now();

/** Until a minute ago; the last hour is a busy one, whatever the time is now. */
export async function createBusyWeek(folder: string): Promise<void> {
  const clock = { now: instant(now - (WEEK + 1) * HOUR) };
  const { store, licensing } = await openSiteFolder(folder, () => clock.now);
  const soon = instant(now + 20 * 24 * HOUR);
  for (const differing of [
    { product: "CAD", slots: 12, timeoutMinutes: LONG, borrowHours: 24 * 14 },
    { product: "MESH", slots: 4, timeoutMinutes: LONG },
    {
      product: "RENDER",
      slots: 8,
      consumption: consumptionTerms({ max: 1_000 }),
      validUntil: soon,
    },
  ]) {
    await installNewLicense(licensing, terms(differing));
  }
  for (let hour = WEEK; hour >= 0; hour -= 1) {
    clock.now = instant(now - hour * HOUR - MINUTE);
    await work(store, hour === 0 ? 8 : atWork(clock.now));
  }
  unwrap(await store.transact(takeAlong(clock.now), () => null));
  unwrap(await store.transact(COUNTED, () => null));
  await store.close();
}

const LONG = 12 * 60;

function atWork(at: Instant): number {
  const date = new Date(at);
  const weekend = date.getUTCDay() % 6 === 0;
  return weekend ? 1 : (AT_WORK[date.getUTCHours()] ?? 0);
}

/** The first so many are at their desks, the others are not. */
async function work(store: Store, count: number): Promise<void> {
  for (const [index, [user, hostname, ip]] of PEOPLE.entries()) {
    const contact = { hostname, ip, info: "", peer: ip };
    for (const product of index < 4 ? ["CAD", "MESH"] : ["CAD"]) {
      const aim = { product, licenseId: null, user };
      await (index < count
        ? store.transact({ type: "Register", ...aim, contact, nonceDigest: null }, () => null)
        : store.transact({ type: "Unregister", ...aim, by: "user", peer: ip }, () => null));
    }
  }
  if (count < 7) return;
  const late = { product: "MESH", code: "floating_not_available", count: count - 6 };
  const refusals = [{ ...late, users: ["f.tanaka", "i.rossi"] }];
  unwrap(await store.transact({ type: "CountRefusals", refusals }, () => null));
}

const takeAlong = (at: Instant): Borrow => ({
  type: "Borrow",
  product: "CAD",
  licenseId: null,
  user: "h.novak",
  contact: { hostname: "field-laptop-4", ip: "10.20.9.14", info: "sea trial", peer: "10.20.9.14" },
  until: later(at, 9 * 24 * HOUR),
  nonceDigest: null,
  once: null,
});

const COUNTED: AddConsumption = {
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
