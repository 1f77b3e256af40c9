import { describe, expect, test } from "bun:test";
import { PlaceContacts } from "../../../src/operations/queue/place-contacts.ts";
import { expectOk, openAppliance, type Appliance } from "../../support/appliance.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { later } from "../../../src/domain/time.ts";
import { minutesLater } from "../../support/scenario.ts";
import { answerRequest } from "../../support/vendor.ts";

const claim = (site: Appliance, user: string, seconds: number | null = null) =>
  site.register({ product: "cad", user }, seconds === null ? {} : { prefer: `wait=${seconds}` });

const countWaiting = (site: Appliance): number =>
  site.services.queue.summarize().products.reduce((sum, { waitingCount }) => sum + waitingCount, 0);

async function openFullSite(contactClock?: () => number): Promise<Appliance> {
  const site = await openAppliance({
    licenses: { 1: { slots: 1, timeoutMinutes: 30 } },
    ...(contactClock && { contactClock }),
  });
  expectOk(await claim(site, "zoe"));
  return site;
}

describe("the timer of the queue", () => {
  test("gives a slot to a waiting request when it ends, without another request", async () => {
    const site = await openFullSite();
    site.clock.now = later(minutesLater(30), -50);
    const reply = claim(site, "ada", 100);
    while (countWaiting(site) === 0) await Bun.sleep(1);
    site.clock.now = minutesLater(30);
    expect(expectOk(await reply)).toMatchObject({ user: "ada" });
  });

  test("ends a place without contact, without another request", async () => {
    const clock = { now: 0 };
    const site = await openFullSite(() => clock.now);
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    clock.now = 29_950;
    // Any change plans the timer anew: for 50 milliseconds from now.
    expect((await claim(site, "bob", 0))[0].status).toBe(400);
    expect(countWaiting(site)).toBe(2);
    clock.now = 30_000;
    while (countWaiting(site) === 2) await Bun.sleep(5);
    expect(countWaiting(site)).toBe(1);
  });
});

describe("a license with more slots than are given in one step", () => {
  const USERS = Array.from({ length: 450 }, (_, index) => `user-${index}`);

  /** All users wait, each from another address. */
  async function openWaitingSite() {
    const site = await openFullSite();
    const granted: string[] = [];
    const replies = USERS.map(async (user, index) => {
      site.peer = `10.0.${index % 5}.${1 + Math.floor(index / 5)}`;
      const reply = claim(site, user, 100);
      expectOk(await reply);
      granted.push(user);
    });
    while (countWaiting(site) < USERS.length) await Bun.sleep(1);
    site.peer = "127.0.0.1";
    return { site, granted, replies };
  }

  test("is given to all waiting requests, in their order", async () => {
    const { site, granted, replies } = await openWaitingSite();
    const document = await answerRequest(await site.makeRequestDocument(), 2, { slots: 450 });
    unwrap(await site.licensing.installLicense(document, "test"));
    await Promise.all(replies);
    expect(granted).toEqual(USERS);
  });

  test("lets no other claim take a slot before all of them are given", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 450, timeoutMinutes: 30 } } });
    await Promise.all(USERS.map((user) => claim(site, `holder-of-${user}`)));
    for (const [index, user] of USERS.entries()) {
      site.peer = `10.0.${index % 5}.${1 + Math.floor(index / 5)}`;
      expect((await claim(site, user, 0))[0].status).toBe(400);
    }
    site.clock.now = minutesLater(31);
    expect((await claim(site, "other"))[0].status).toBe(400);
    expect(site.services.queue.summarize().products).toEqual([
      { product: "cad", waitingCount: 0, heldCount: 450 },
    ]);
  });
});

describe("the last contacts of waiting users", () => {
  test("are listed from the earliest on, up to a limit and a number", () => {
    const contacts = new PlaceContacts();
    for (const [index, user] of ["ada", "bob", "cyd", "dan"].entries()) contacts.touch(user, index);
    expect(contacts.listSilentSince(2, 10)).toEqual(["ada", "bob", "cyd"]);
    expect(contacts.listSilentSince(2, 2)).toEqual(["ada", "bob"]);
    expect(contacts.listSilentSince(-1, 10)).toEqual([]);
  });

  test("are the newest after another contact", () => {
    const contacts = new PlaceContacts();
    contacts.touch("ada", 1);
    contacts.touch("bob", 2);
    contacts.touch("ada", 3);
    expect(contacts.earliestContact()).toBe(2);
    expect(contacts.listSilentSince(3, 10)).toEqual(["bob", "ada"]);
    expect(contacts.lastContactOf("ada")).toBe(3);
  });

  test("are gone when a user waits no longer", () => {
    const contacts = new PlaceContacts();
    contacts.touch("ada", 1);
    contacts.forget("ada");
    expect([contacts.earliestContact(), contacts.lastContactOf("ada")]).toEqual([null, null]);
  });
});
