import { describe, expect, test } from "bun:test";
import { WaitingCount } from "../../../../src/http/access/waiting-count.ts";
import type { ReportReply } from "../../../../src/http/routes/usage/report-schema.ts";
import type { QueueReply } from "../../../../src/http/routes/queue/queue-schemas.ts";
import type { AuditPageReply } from "../../../../src/http/routes/audit/audit-log.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type ApplianceOptions,
} from "../../../support/appliance.ts";
import { FaultyDisk } from "../../../support/faulty-disk.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { minutesLater } from "../../../support/scenario.ts";
import { copyFolder } from "../../../support/temp-folder.ts";
import { answerRequest } from "../../../support/vendor.ts";

interface WaitingRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly queue?: {
    readonly position: number;
    readonly length: number;
    readonly eta: unknown;
    readonly expires_at: string;
  };
}

const waitFor = (seconds: number) => ({ prefer: `wait=${seconds}` });

/** A product with one slot, which zoe holds. */
async function openFullSite(options: ApplianceOptions = {}): Promise<Appliance> {
  const site = await openAppliance({ licenses: { 1: { slots: 1 } }, ...options });
  expectOk(await site.register({ product: "cad", user: "zoe" }));
  return site;
}

const claim = (site: Appliance, user: string, headers = {}): Promise<ApiResponse<unknown>> =>
  site.register({ product: "cad", user }, headers);

/** A request that waits until `cutOff` closes its connection. */
async function startWaitingUntilCutOff(site: Appliance, user: string) {
  const aborting = new AbortController();
  const request = new Request("http://appliance/api/v4/register", {
    method: "POST",
    signal: aborting.signal,
    headers: { host: "127.0.0.1", "content-type": "application/json", ...waitFor(100) },
    body: JSON.stringify({ product: "cad", user }),
  });
  const reply = site.app.handle(request);
  while ((await listWaiting(site)).length === 0) await Bun.sleep(1);
  return {
    async cutOff() {
      aborting.abort();
      await reply;
    },
  };
}

const release = async (site: Appliance, user: string): Promise<void> =>
  void expectOk(await site.unregister({ product: "cad", user }));

const readQueue = async (site: Appliance): Promise<QueueReply["products"]> =>
  expectOk(await site.get<QueueReply>("/api/admin/v1/queue")).products;

const listWaiting = async (site: Appliance): Promise<string[]> =>
  (await readQueue(site)).flatMap(({ places }) => places.map(({ user }) => user));

/** Starts a waiting request, and returns when its place is taken. */
async function startWaiting(
  site: Appliance,
  user: string,
  seconds = 100,
): Promise<{ readonly reply: Promise<ApiResponse<unknown>> }> {
  const reply = claim(site, user, waitFor(seconds));
  while (!(await listWaiting(site)).includes(user)) await Bun.sleep(1);
  return { reply };
}

function expectPlace([response, body]: ApiResponse<unknown>, position: number, length: number) {
  const refusal = body as WaitingRefusal;
  expect([response.status, refusal.code]).toEqual([400, "floating_not_available"]);
  expect(response.headers.get("preference-applied")).toBe("wait");
  expect(response.headers.get("retry-after")).toBe("15");
  expect(refusal.queue).toMatchObject({ position, length });
  return refusal;
}

describe("register with Prefer: wait", () => {
  test("is granted at once while a slot is free", async () => {
    const site = await openAppliance();
    const [response, body] = await claim(site, "ada", waitFor(60));
    expect(expectOk([response, body])).toMatchObject({ user: "ada", license_id: 1 });
    expect(response.headers.get("preference-applied")).toBe("wait");
    expect(await readQueue(site)).toEqual([]);
  });

  test("is a heartbeat for a user who holds a slot", async () => {
    const site = await openFullSite();
    const [response, body] = await claim(site, "zoe", waitFor(60));
    expectOk([response, body]);
    expect(response.headers.get("preference-applied")).toBe("wait");
  });

  test("waits until a slot is released, and is then granted it", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    await release(site, "zoe");
    const [response, body] = await reply;
    expect(expectOk([response, body])).toMatchObject({ user: "ada", floating_slots_in_use: 1 });
    expect(response.headers.get("preference-applied")).toBe("wait");
    expect(response.headers.get("retry-after")).toBeNull();
    expect(await readQueue(site)).toEqual([]);
  });

  test("is granted a slot of a license that is installed meanwhile", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    const document = await answerRequest(await site.makeRequestDocument(), 2, { slots: 1 });
    unwrap(await site.licensing.installLicense(document, "test"));
    expect(expectOk(await reply)).toMatchObject({ user: "ada", license_id: 2 });
  });

  test("is granted in the order of arrival", async () => {
    const site = await openFullSite();
    const users = ["ada", "bob", "cyd", "dan"];
    const granted: string[] = [];
    const replies: Promise<unknown>[] = [];
    for (const user of users) {
      const { reply } = await startWaiting(site, user);
      replies.push(
        reply.then(async (answer) => {
          expectOk(answer);
          granted.push(user);
          await release(site, user);
        }),
      );
    }
    await release(site, "zoe");
    await Promise.all(replies);
    expect(granted).toEqual(users);
  });

  test("ends with the refusal, Retry-After and its place", async () => {
    const site = await openFullSite();
    const answer = await claim(site, "ada", waitFor(1));
    const { queue, ...refusal } = expectPlace(answer, 1, 1);
    expect(queue).toEqual({
      position: 1,
      length: 1,
      eta: null,
      expires_at: "2026-03-02T09:00:30.000Z",
    });
    expect(refusal).toEqual({
      status: 400,
      code: "floating_not_available",
      message: "the only slot is in use; 1 user waits",
    });
    expect(answer[0].headers.get("content-type")).toStartWith("application/json");
  });

  test.each(["wait=0", "wait=60"])(
    "is under way like any other request while its first reply is on the way to the disk, with %s",
    async (prefer) => {
      const waitingCount = new WaitingCount();
      const disk = new FaultyDisk();
      const site = await openFullSite({ disk, gate: { waitingCount } });
      await release(site, "zoe");
      const syncs = disk.block("syncData");
      const reply = claim(site, "ada", { prefer });
      while (syncs.count === 0) await Bun.sleep(1);
      expect(waitingCount.count).toBe(0);
      disk.clearFaults();
      expectOk(await reply);
    },
  );

  test("has the words and the hint of the command line in a refusal for a command", async () => {
    const site = await openFullSite();
    const headers = { "x-berth-audience": "command-line", ...waitFor(0) };
    const [, plain] = await claim(site, "ada", { "x-berth-audience": "command-line" });
    expect(plain).toHaveProperty("hint");
    const { queue: _queue, ...refusal } = expectPlace(await claim(site, "ada", headers), 1, 1);
    expect(Object.keys(refusal).toSorted()).toEqual(Object.keys(plain as object).toSorted());
  });

  test("answers at once with wait=0, and keeps the place when it is repeated", async () => {
    const site = await openFullSite();
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 2);
    expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
  });

  test("says in the message of wait=0 how many wait, with the caller, as queue.length", async () => {
    const site = await openFullSite();
    const first = expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    expect(first.message).toBe("the only slot is in use; 1 user waits");
    const second = expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
    expect(second.message).toBe("the only slot is in use; 2 users wait");
  });

  test("has a lease if it has an X-Nonce", async () => {
    const site = await openFullSite();
    const headers = { ...waitFor(100), "x-nonce": "0123456789abcdef" };
    const reply = claim(site, "ada", headers);
    while ((await listWaiting(site)).length === 0) await Bun.sleep(1);
    await release(site, "zoe");
    expect(expectOk(await reply)).toMatchObject({ user: "ada", lease: expect.any(String) });
  });

  test("does not wait for what a free slot does not help", async () => {
    const site = await openFullSite();
    const answer = await site.register({ product: "none", user: "ada" }, waitFor(100));
    expectRefusal(answer, 400, "unknown_product");
    expect(answer[0].headers.get("preference-applied")).toBeNull();
    expectRefusal(await site.register({ product: "cad" }, waitFor(100)), 400, "missing_parameters");
    expect(await readQueue(site)).toEqual([]);
    expect(await countRefusals(site, "unknown_product")).toBe(1);
  });

  test.each(["wait", "wait=-1", "wait=x", "respond-async", 'note="wait=60"'])(
    "is refused as without it, if the header is %p",
    async (prefer) => {
      const site = await openFullSite();
      const answer = await claim(site, "ada", { prefer });
      expectRefusal(answer, 400, "floating_not_available");
      expect(answer[0].headers.get("preference-applied")).toBeNull();
      expect(answer[0].headers.get("retry-after")).toBeNull();
      expect(await readQueue(site)).toEqual([]);
    },
  );

  test("counts as one refusal, at its end", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada", 1);
    expect(await countRefusals(site)).toBe(0);
    expectPlace(await reply, 1, 1);
    expect(await countRefusals(site)).toBe(1);
  });

  test("counts as no refusal if it is granted", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    await release(site, "zoe");
    expectOk(await reply);
    expect(await countRefusals(site)).toBe(0);
  });

  test("is a denied episode from its beginning on, also if it is granted", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    site.clock.now = minutesLater(2);
    await release(site, "zoe");
    expectOk(await reply);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    const query = "/api/admin/v1/audit?type=EpisodeEnded";
    const { events } = expectOk(await next.get<AuditPageReply>(query));
    expect(events.map(({ user, detail }) => [user, detail])).toMatchObject([
      ["ada", { first_at: "2026-03-02T09:00:00.000Z", attempts: 1, outcome: "granted" }],
    ]);
  });

  test("is one attempt of a denied episode and one refusal, however its wait ends", async () => {
    const site = await openFullSite();
    const { reply: paused } = await startWaiting(site, "ada");
    site.services.queue.pause();
    expectPlace(await paused, 1, 1);
    site.services.queue.start();
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    const { reply: left } = await startWaiting(site, "bob");
    await release(site, "bob");
    expectRefusal(await left, 400, "floating_not_available");
    await release(site, "zoe");
    expectOk(await claim(site, "ada"));
    expect(await countRefusals(site)).toBe(3);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    const query = "/api/admin/v1/audit?type=EpisodeEnded";
    const { events } = expectOk(await next.get<AuditPageReply>(query));
    expect(events.map(({ user, detail }) => [user, detail])).toMatchObject([
      ["ada", { attempts: 2, outcome: "granted" }],
      ["bob", { attempts: 1, outcome: "left" }],
    ]);
  });

  test("is not granted a slot after its login was removed", async () => {
    const site = await openAppliance({
      licenses: { 1: { slots: 1 } },
      gate: { clientAuth: "login" },
    });
    const { access, queue } = site.services;
    const logIn = async (user: string) => {
      const password = "a long enough password";
      unwrap(await access.setUser(user, "user", password, "test"));
      const { token } = unwrap(await access.login(user, password, "test"));
      return { authorization: `Bearer ${token}` };
    };
    const [zoe, ada] = [await logIn("zoe"), await logIn("ada")];
    expectOk(await claim(site, "zoe", zoe));
    const reply = claim(site, "ada", { ...ada, ...waitFor(100) });
    while (queue.summarize().products.length === 0) await Bun.sleep(1);
    unwrap(await access.removeUser("ada", "test"));
    expectOk(await site.post("unregister", { product: "cad", user: "zoe" }, zoe));
    const [{ status }, refusal] = await reply;
    expect([status, refusal]).toMatchObject([400, { code: "floating_not_available" }]);
  });

  test("is answered at once when the appliance moves to another host, without a place", async () => {
    const site = await openFullSite();
    const [first, second] = [await startWaiting(site, "ada"), await startWaiting(site, "bob")];
    unwrap(await site.services.hostMove.moveAway("socket"));
    for (const { reply } of [first, second]) {
      const [response, body] = await reply;
      expect([response.status, body]).toMatchObject([409, { code: "moved_away" }]);
      expect(body).not.toHaveProperty("queue");
      expect(response.headers.get("retry-after")).toBeNull();
    }
    expect(await listWaiting(site)).toEqual(["ada", "bob"]);
  });

  test("is answered at once when the server stops, and its place stays", async () => {
    const site = await openFullSite();
    const [first, second] = [await startWaiting(site, "ada"), await startWaiting(site, "bob")];
    site.services.queue.stop();
    expectPlace(await first.reply, 1, 2);
    expectPlace(await second.reply, 2, 2);
    expectPlace(await claim(site, "cyd", waitFor(100)), 3, 3);
    expect(await listWaiting(site)).toEqual(["ada", "bob", "cyd"]);
  });
});

/** The number of refusals for want of a slot, as a monitor reads it. */
const countRefusals = async (site: Appliance, code = "floating_not_available"): Promise<number> => {
  const text = expectOk(await site.get<string>("/metrics"));
  const line = new RegExp(String.raw`^berth_refusals_total\{.*${code}.*\} (\d+)$`, "gm");
  return [...text.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
};

describe("the queue", () => {
  test("lets no request without Prefer overtake a user who waits", async () => {
    const site = await openFullSite();
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    await release(site, "zoe");
    expectRefusal(await claim(site, "bob"), 400, "floating_not_available");
    expectRefusal(await claim(site, "zoe"), 400, "floating_not_available");
    expectOk(await claim(site, "ada"));
  });

  test("lets no borrow overtake a user who waits", async () => {
    const site = await openFullSite({ licenses: { 1: { slots: 1 } } });
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    await release(site, "zoe");
    const until = { borrowed_until: "2026-03-02T19:00:00Z" };
    const borrow = (user: string) => site.borrow({ product: "cad", user, ...until });
    expectRefusal(await borrow("bob"), 400, "floating_not_available");
    expectOk(await borrow("ada"));
    expect(await readQueue(site)).toEqual([]);
  });

  test("gives a slot that ended to the user who waits, before other requests", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    site.clock.now = minutesLater(31);
    expectRefusal(await claim(site, "bob"), 400, "floating_not_available");
    expect(expectOk(await reply)).toMatchObject({ user: "ada" });
  });

  test("is left by unregister, which also ends the user's waiting request", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    await release(site, "ada");
    expectRefusal(await reply, 400, "floating_not_available");
    expect(await readQueue(site)).toEqual([]);
    expectRefusal(
      await site.unregister({ product: "cad", user: "ada" }),
      400,
      "user_not_registered",
    );
  });

  test("keeps a place for 30 seconds after the last request, and no longer", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    clock.now = 29_999;
    expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
    clock.now = 30_000;
    expectPlace(await claim(site, "bob", waitFor(0)), 1, 1);
  });

  test("shows when a place ends, counted from the last request", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    clock.now = 12_000;
    const ends = async (): Promise<unknown> =>
      (await readQueue(site)).map(({ places }) => places.map((place) => place.expires_at));
    expect(await ends()).toEqual([["2026-03-02T09:00:18.000Z"]]);
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    expect(await ends()).toEqual([["2026-03-02T09:00:30.000Z"]]);
  });

  test("ends places without contact also after many users have left", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    const leaving = Array.from({ length: 20 }, (_, index) => `user-${index}`);
    for (const user of leaving) await claim(site, user, waitFor(0));
    clock.now = 1;
    expectPlace(await claim(site, "ada", waitFor(0)), 21, 21);
    for (const user of leaving) await release(site, user);
    expect(await listWaiting(site)).toEqual(["ada"]);
    clock.now = 30_001;
    expectRefusal(await claim(site, "bob"), 400, "floating_not_available");
    expect(await listWaiting(site)).toEqual([]);
  });

  test("keeps the place of a waiting request as long as it waits", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    const { reply } = await startWaiting(site, "ada");
    clock.now = 90_000;
    expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
    await release(site, "zoe");
    expect(expectOk(await reply)).toMatchObject({ user: "ada" });
  });

  test("gives an uncollected slot to the next user after 30 seconds", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    clock.now = 20_000;
    expectPlace(await claim(site, "bob", waitFor(0)), 2, 2);
    await release(site, "zoe");
    expect((await readQueue(site))[0]).toMatchObject({ held: 1, waiting: 1 });
    expect(expectOk(await site.status()).licenses).toMatchObject([
      { floating_slots_in_use: 0, floating_slots_held: 1 },
    ]);
    clock.now = 49_999;
    // The request of bob at 20 seconds keeps its place until 50 seconds.
    expectPlace(await claim(site, "bob", waitFor(0)), 1, 1);
    clock.now = 50_000;
    expectOk(await claim(site, "bob", waitFor(0)));
    expect(await readQueue(site)).toEqual([]);
  });

  test("keeps the place of a caller that disconnects, but gives it no slot to lose", async () => {
    const site = await openFullSite();
    const { cutOff } = await startWaitingUntilCutOff(site, "ada");
    expect((await readQueue(site))[0]?.places[0]).toMatchObject({
      connected: true,
      expires_at: null,
    });
    await cutOff();
    await release(site, "zoe");
    expect((await readQueue(site))[0]?.places[0]).toMatchObject({
      user: "ada",
      state: "held",
      connected: false,
    });
    expect(await site.listHolders()).toEqual([]);
    expectOk(await claim(site, "ada"));
  });

  test("holds a slot for a caller that disconnected for 30 seconds from then on, no longer", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    const { cutOff } = await startWaitingUntilCutOff(site, "ada");
    await cutOff();
    clock.now = 20_000;
    await release(site, "zoe");
    expectPlace(await claim(site, "bob", waitFor(0)), 1, 1);
    clock.now = 29_999;
    expectPlace(await claim(site, "bob", waitFor(0)), 1, 1);
    clock.now = 30_000;
    expectOk(await claim(site, "bob", waitFor(0)));
  });

  test("holds a slot for the full time for a caller that disconnected and came back", async () => {
    const clock = { now: 0 };
    const site = await openFullSite({ contactClock: () => clock.now });
    const { cutOff } = await startWaitingUntilCutOff(site, "ada");
    await cutOff();
    clock.now = 10_000;
    expectPlace(await claim(site, "ada", waitFor(0)), 1, 1);
    clock.now = 20_000;
    await release(site, "zoe");
    clock.now = 49_999;
    expectPlace(await claim(site, "bob", waitFor(0)), 1, 1);
    expectOk(await claim(site, "ada"));
  });

  test("answers all requests of one user, which share the place", async () => {
    const waitingCount = new WaitingCount();
    const site = await openFullSite({ gate: { waitingCount } });
    const { reply } = await startWaiting(site, "ada");
    const second = claim(site, "ada", waitFor(100));
    while (waitingCount.count < 2) await Bun.sleep(1);
    expect(await listWaiting(site)).toEqual(["ada"]);
    await release(site, "zoe");
    expect([expectOk(await reply), expectOk(await second)]).toMatchObject([
      { user: "ada", floating_slots_in_use: 1 },
      { user: "ada", floating_slots_in_use: 1 },
    ]);
  });

  test("lets ten requests of one user wait, and answers any more at once", async () => {
    const waitingCount = new WaitingCount();
    const site = await openFullSite({ gate: { waitingCount } });
    const replies = Array.from({ length: 10 }, () => claim(site, "ada", waitFor(100)));
    while (waitingCount.count < 10) await Bun.sleep(1);
    expectPlace(await claim(site, "ada", waitFor(100)), 1, 1);
    expect(waitingCount.count).toBe(10);
    const { reply } = await startWaiting(site, "bob");
    await release(site, "zoe");
    for (const granted of replies) expectOk(await granted);
    await release(site, "ada");
    expectOk(await reply);
    expect(waitingCount.count).toBe(0);
  });

  test("has 100 places for one address, whatever names it sends; others are refused as without Prefer", async () => {
    const site = await openFullSite();
    for (let index = 0; index < 100; index += 1) {
      expectPlace(await claim(site, `user-${index}`, waitFor(0)), index + 1, index + 1);
    }
    const before = site.lastSeq();
    for (let index = 100; index < 1_000; index += 1) {
      const answer = await claim(site, `user-${index}`, waitFor(100));
      expectRefusal(answer, 400, "floating_not_available");
      expect(answer[0].headers.get("preference-applied")).toBeNull();
    }
    expect(site.lastSeq()).toBe(before);
    site.peer = "10.0.0.7";
    expectPlace(await claim(site, "other-address", waitFor(0)), 101, 101);
  });

  test("is listed with its users, and its figures are in the status", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    expectPlace(await claim(site, "bob", { ...waitFor(0) }), 2, 2);
    const unlimited = { priority: null, home: null, eta: null, limit: null, state: "waiting" };
    const [queue] = await readQueue(site);
    expect(queue).toEqual({
      product: "cad",
      waiting: 2,
      held: 0,
      hold_seconds: 30,
      places: [
        {
          user: "ada",
          position: 1,
          license_id: null,
          since: "2026-03-02T09:00:00.000Z",
          expires_at: null,
          connected: true,
          ...unlimited,
        },
        {
          user: "bob",
          position: 2,
          license_id: null,
          since: "2026-03-02T09:00:00.000Z",
          expires_at: expect.stringMatching(/^2026-03-02T09:00:(?:30\.000|29\.\d{3})Z$/),
          connected: false,
          ...unlimited,
        },
      ],
    } as never);
    const { queue: figures } = expectOk(await site.status());
    expect(figures).toEqual({
      changes: 2,
      products: [{ product: "cad", waiting: 2, held: 0 }],
    });
    expectRefusal(await site.get("/api/admin/v1/queue?product=none"), 400, "unknown_product");
    await release(site, "zoe");
    expectOk(await reply);
  });

  test("is listed for all products in their order, or for one", async () => {
    const products = ["cam", "cad", "plm"];
    const licenses = products.map((product, index) => [index + 1, { product, slots: 1 }]);
    const site = await openAppliance({ licenses: Object.fromEntries(licenses) });
    for (const product of products) {
      expectOk(await site.register({ product, user: "zoe" }));
      await site.register({ product, user: "ada" }, waitFor(0));
    }
    expect((await readQueue(site)).map(({ product }) => product)).toEqual(["cad", "cam", "plm"]);
    const one = await site.get<QueueReply>("/api/admin/v1/queue?product=cam");
    expect(expectOk(one).products.map(({ product }) => product)).toEqual(["cam"]);
  });

  test("names the license, the reserved group and the priority of a place", async () => {
    const site = await openFullSite();
    const text = `groups.sim.users = ["ada"]
[[rule]]
product = "cad"
reserve = [{ group = "sim", slots = 1 }]
queue = { priority = ["sim"] }
`;
    unwrap(await site.services.sharingRules.apply(text, "*", null, "test"));
    await site.register({ product: "cad", user: "ada", license_id: "1" }, waitFor(0));
    await claim(site, "bob", waitFor(0));
    const readPlaces = async () =>
      (await readQueue(site)).flatMap(({ places }) =>
        places.map(({ user, license_id, home, priority }) => [user, license_id, home, priority]),
      );
    const ada = ["ada", 1, "sim", "sim"];
    expect(await readPlaces()).toEqual([ada, ["bob", null, null, null]]);
    unwrap(await site.services.sharingRules.apply("", "*", null, "test"));
    await release(site, "ada");
    await release(site, "zoe");
    expect(await readPlaces()).toEqual([["bob", 1, null, null]]);
  });

  test("serves first whom an administrator moves to the front", async () => {
    const site = await openFullSite();
    for (const user of ["ada", "bob"]) await claim(site, user, waitFor(0));
    const before = expectOk(await site.status()).queue.changes;
    const moved = await site.post("/api/admin/v1/queue/front", { product: "cad", user: "bob" });
    expect(expectOk(moved)).toEqual({ product: "cad", user: "bob" });
    expect(await listWaiting(site)).toEqual(["bob", "ada"]);
    // Pages read the queue again when this number changes.
    expect(expectOk(await site.status()).queue.changes).toBe(before + 1);
  });

  test("ends the request of a user whom an administrator removes", async () => {
    const site = await openFullSite();
    const { reply } = await startWaiting(site, "ada");
    const dropped = await site.post("/api/admin/v1/queue/drop", { user: "ada" });
    expect(expectOk(dropped)).toEqual({ product: "cad", user: "ada" });
    expectRefusal(await reply, 400, "floating_not_available");
    const again = await site.post("/api/admin/v1/queue/drop", { product: "cad", user: "ada" });
    expectRefusal(again, 400, "not_waiting");
    expectRefusal(await site.post("/api/admin/v1/queue/drop", {}), 400, "missing_parameters");
  });
});

test("a wait is in the report although the server was killed after it ended", async () => {
  const site = await openFullSite();
  const { reply } = await startWaiting(site, "ada");
  await release(site, "zoe");
  expectOk(await reply);
  await release(site, "ada");
  const folder = copyFolder(site.folder);
  const readDenials = async (opened: Appliance) => {
    opened.clock.now = minutesLater(1);
    const path = "/api/admin/v1/report?days=30";
    return expectOk(await opened.get<ReportReply>(path)).denials;
  };
  const next = await openAppliance({ folder, licenses: {} });
  expect(await readDenials(next)).toMatchObject({ open: 1 });
  expectOk(await next.register({ product: "cad", user: "zoe" }));
  await next.stop();
  const last = await openAppliance({ folder, licenses: {} });
  expect(await readDenials(last)).toMatchObject({ episodes: 1, granted: 1, open: 0 });
});
