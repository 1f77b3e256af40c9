// `year-site.ts FOLDER HOLDERS LINES` creates a site that was in use for a year: so many users took
// a slot in its course and hold it, and others come and go on working days, until the audit log has
// about so many lines. The operations of a server write it, with a clock that is moved.
import { DAY, HOUR, instant, later, type Instant } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { makeContact } from "../support/contact.ts";
import { terms } from "../support/scenario.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { installNewLicense, openSiteFolder } from "../support/site-folder.ts";
import { contactOf, PRODUCT, userOf } from "./populated-site.ts";

/** Slots of holders do not end within the year, or during the measurement. */
const TIMEOUT_MINUTES = 800 * 24 * 60;
const DAYS = 365;
/** Users who come and go. */
const VISITORS = 500;
const WORKING_HOURS = 10;

async function makeYearSite(folder: string, holders: number, lines: number): Promise<void> {
  const end = wallClock() - HOUR;
  let now = instant(end - DAYS * DAY);
  const begin = now;
  const site = await openSiteFolder(folder, () => now);
  const slots = holders + VISITORS;
  await installNewLicense(
    site,
    terms({ product: PRODUCT, slots, timeoutMinutes: TIMEOUT_MINUTES }),
  );
  await installNewLicense(
    site,
    terms({ product: "full", slots: 1, timeoutMinutes: TIMEOUT_MINUTES }),
  );

  const peer = "127.0.0.1";
  const register = (user: string, contact: { hostname: string; ip: string }, at: Instant) => {
    now = at;
    return site.slots.register({
      product: PRODUCT,
      licenseId: null,
      user,
      contact: makeContact({ ...contact, peer }),
      identity: null,
      nonce: null,
    });
  };
  const unregister = (user: string, at: Instant) => {
    now = at;
    return site.slots.unregister({ product: PRODUCT, licenseId: null, user, by: "user", peer });
  };

  const random = new SeededRandom(7);
  const workingDays = Math.round((DAYS * 5) / 7);
  const changesPerHour = (lines - holders) / (workingDays * WORKING_HOURS);
  const present = new Set<number>();
  let held = 0;
  for (let day = 0; day < DAYS; day += 1) {
    const midnight = later(begin, day * DAY);
    const isWorkingDay = day % 7 < 5;
    for (let hour = 0; hour < 24; hour += 1) {
      const pending: Promise<{ readonly ok: boolean }>[] = [];
      const share = (day * 24 + hour + 1) / (DAYS * 24);
      const isWorking = isWorkingDay && hour >= 7 && hour < 7 + WORKING_HOURS;
      const changes = isWorking ? Math.round(changesPerHour) : 0;
      const steps = Math.max(changes, Math.ceil(holders * share) - held);
      for (let step = 0; step < steps; step += 1) {
        const at = later(midnight, hour * HOUR + Math.floor((step * HOUR) / steps));
        if (held < holders * share) {
          pending.push(register(userOf(held), contactOf(held), at));
          held += 1;
        }
        if (step >= changes) continue;
        const visitor = random.intBelow(VISITORS);
        const user = `visitor-${visitor}`;
        if (present.delete(visitor)) pending.push(unregister(user, at));
        else {
          present.add(visitor);
          const contact = { hostname: `desk-${visitor}`, ip: `10.9.0.${visitor % 256}` };
          pending.push(register(user, contact, at));
        }
      }
      const refused = (await Promise.all(pending)).filter(({ ok }) => !ok).length;
      if (refused > 0) throw new Error(`${refused} calls were refused on day ${day}`);
    }
  }
  now = instant(end);
  await site.close();
}

if (import.meta.main) {
  const [folder = "", holders = "0", lines = "0"] = process.argv.slice(2);
  await makeYearSite(folder, Number(holders), Number(lines));
}
