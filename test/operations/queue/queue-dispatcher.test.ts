import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { PlaceContacts } from "../../../src/operations/queue/place-contacts.ts";
import { QueueDispatcher } from "../../../src/operations/queue/queue-dispatcher.ts";
import { WaitingRequest } from "../../../src/operations/queue/waiting-request.ts";
import type { Disk } from "../../../src/platform/files/disk.ts";
import { log } from "../../../src/platform/log.ts";
import { expectOk, openAppliance, type Appliance } from "../../support/appliance.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { err } from "../../../src/domain/result.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { later } from "../../../src/domain/time.ts";
import type { Store } from "../../../src/store/store.ts";
import { install, minutesLater } from "../../support/scenario.ts";
import { answerRequest } from "../../support/vendor.ts";
import { QueueSite } from "../../domain/queue/queue-site.ts";

const claim = (site: Appliance, user: string, seconds: number | null = null) =>
  site.register({ product: "cad", user }, seconds === null ? {} : { prefer: `wait=${seconds}` });

const countWaiting = (site: Appliance): number =>
  site.services.queue.summarize().products.reduce((sum, { waitingCount }) => sum + waitingCount, 0);

const countHeld = (site: Appliance): number =>
  site.services.queue.summarize().products.reduce((sum, { heldCount }) => sum + heldCount, 0);

async function openFullSite(contactClock?: () => number, disk?: Disk): Promise<Appliance> {
  const site = await openAppliance({
    licenses: { 1: { slots: 1, timeoutMinutes: 30 } },
    ...(contactClock && { contactClock }),
    ...(disk && { disk }),
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

describe("the queue of a host that does not lead its pair", () => {
  test("gives no slot and ends no place until the host leads", async () => {
    const clock = { now: 0 };
    const site = await openFullSite(() => clock.now);
    const { queue } = site.services;
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    queue.pause();
    expectOk(await site.unregister({ product: "cad", user: "zoe" }));
    await Bun.sleep(5);
    expect(countHeld(site)).toBe(0);
    // The user was in contact with the other host: only a term from now on counts.
    clock.now = 60_000;
    queue.start();
    expect({ waiting: countWaiting(site), held: countHeld(site) }).toMatchObject({ held: 1 });
    clock.now = 89_999;
    queue.start();
    expect(countHeld(site)).toBe(1);
  });
});

describe("a user under a cap of the settings gets a free slot", () => {
  const licenses = { 1: { slots: 2 }, 2: { product: "viz", slots: 2 } };

  test("when it releases its slot of another product", async () => {
    const site = await openAppliance({ licenses, slotCaps: { perUser: 1, perPeer: null } });
    expectOk(await site.register({ product: "viz", user: "ada" }));
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    expectOk(await site.unregister({ product: "viz", user: "ada" }));
    expect(countHeld(site)).toBe(1);
  });

  test("when another user of its address continues at another address", async () => {
    const site = await openAppliance({ licenses, slotCaps: { perUser: null, perPeer: 1 } });
    expectOk(await claim(site, "zoe"));
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    site.peer = "10.0.0.2";
    expectOk(await claim(site, "zoe"));
    expect(countHeld(site)).toBe(1);
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

  test("is given in several steps, with other requests between them", async () => {
    const { site, replies } = await openWaitingSite();
    const document = await answerRequest(await site.makeRequestDocument(), 2, { slots: 450 });
    const countPlaces = (): number => countWaiting(site) + countHeld(site);
    const steps = new Set<number>();
    let isDone = false;
    // The runtime serves requests where it runs this function.
    const look = (): void => {
      steps.add(countPlaces());
      if (!isDone) setImmediate(look);
    };
    look();
    unwrap(await site.licensing.installLicense(document, "test"));
    await Promise.all(replies);
    isDone = true;
    expect(steps.size).toBeGreaterThan(5);
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

describe("requests whose wait ends", () => {
  const makeRequest = (retry: () => void, refuse: () => void = () => {}) => ({
    product: "cad",
    user: "ada",
    retry,
    refuse,
  });

  test("are tried again fifty at a time, with other requests between them", async () => {
    const dispatcher = new QueueDispatcher();
    const tried: number[] = [];
    for (let index = 0; index < 170; index += 1)
      dispatcher.endWait(makeRequest(() => tried.push(index)));
    const steps = new Set<number>();
    while (tried.length < 170) {
      steps.add(tried.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([...steps].map((seen) => seen % 50)).toEqual([...steps].map(() => 0));
    expect(steps.size).toBeGreaterThan(2);
    expect(tried).toEqual(tried.toSorted((a, b) => a - b));
  });

  test("are refused if another attempt fails, and the others are tried", async () => {
    const dispatcher = new QueueDispatcher();
    const logged = spyOn(log, "error").mockImplementation(() => {});
    onTestFinished(() => logged.mockRestore());
    const { promise, resolve } = Promise.withResolvers<void>();
    let refusals = 0;
    const failing = (): void => {
      throw new Error("injected");
    };
    dispatcher.endWait(makeRequest(failing, () => (refusals += 1)));
    dispatcher.endWait(makeRequest(resolve));
    await promise;
    expect(refusals).toBe(1);
    expect(logged).toHaveBeenCalledTimes(1);
  });
});

test("a request whose caller disconnected before it began to wait does not wait", async () => {
  const ended: string[] = [];
  const request = new WaitingRequest<string>({
    product: "cad",
    user: "ada",
    signal: AbortSignal.abort(),
    retry: () => "granted",
    onTimeout: (waiting) => waiting.retry(),
    onEnd: ({ user }) => ended.push(user),
  });
  expect(await request.wait(1_000)).toBeNull();
  request.retry();
  expect(ended).toEqual(["ada"]);
});

describe("while the disk is full", () => {
  test("a place without contact stays, and ends when the disk has space again", async () => {
    const clock = { now: 0 };
    const disk = new FaultyDisk();
    const site = await openFullSite(() => clock.now, disk);
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    disk.bytesLeft = 0;
    while ((await claim(site, "bob", 0))[0].status !== 503) await Bun.sleep(1);
    // The place of bob is not on the disk.
    while (countWaiting(site) !== 1) await Bun.sleep(1);
    clock.now = 60_000;
    expect((await claim(site, "bob", 0))[0].status).toBe(503);
    // The state was read again, so the place had a full term from then on.
    clock.now = 120_000;
    expect((await claim(site, "bob", 0))[0].status).toBe(503);
    expect(countWaiting(site)).toBe(1);
    disk.bytesLeft = Infinity;
    while ((await claim(site, "bob"))[0].status === 503) await Bun.sleep(5);
    expect(countWaiting(site)).toBe(0);
  });

  test("a place that its user could not leave ends without contact, once it has space", async () => {
    const clock = { now: 0 };
    const disk = new FaultyDisk();
    const site = await openFullSite(() => clock.now, disk);
    expect((await claim(site, "ada", 0))[0].status).toBe(400);
    disk.bytesLeft = 0;
    expect((await site.unregister({ product: "cad", user: "ada" }))[0].status).toBe(503);
    disk.bytesLeft = Infinity;
    while ((await claim(site, "bob"))[0].status === 503) await Bun.sleep(5);
    expect(countWaiting(site)).toBe(1);
    clock.now = 30_000;
    expect((await claim(site, "bob"))[0].status).toBe(400);
    expect(countWaiting(site)).toBe(0);
  });

  test("the timer tries to end a place once a second, not without a pause", async () => {
    const queueSite = new QueueSite();
    queueSite.run(install(1, { slots: 0 }));
    queueSite.queue("ada");
    let commandCount = 0;
    const fault = { code: "storage_full" } as const;
    const store = {
      peek: (view: (state: State) => unknown) => view(queueSite.state),
      decide: () => {
        commandCount += 1;
        return { fault, pendingResult: Promise.resolve(err(fault)) };
      },
    } as unknown as Store;
    let contactTime = 0;
    const dispatcher = new QueueDispatcher();
    onTestFinished(() => dispatcher.stop());
    dispatcher.attach({ store, now: () => queueSite.at, contactClock: () => contactTime });
    dispatcher.start();
    contactTime = 60_000;
    dispatcher.start();
    expect(commandCount).toBe(2);
    await Bun.sleep(300);
    expect(commandCount).toBeLessThan(20);
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
