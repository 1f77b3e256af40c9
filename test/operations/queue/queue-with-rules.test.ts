import { describe, expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import type { RuleSet } from "../../../src/domain/model/rules/rule-set.ts";
import { DEFAULT_QUEUE_RULES } from "../../../src/domain/model/rules/rule-set.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { applyRules, group, named, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";
import { MONDAY, terms } from "../../support/scenario.ts";
import { installNewLicense, openSiteFolder } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { makeContact } from "../../support/contact.ts";

async function openSite(slots: number) {
  const clock = { now: MONDAY };
  const closing: { close?: () => Promise<void> } = {};
  // Before the folder is removed.
  onTestFinished(() => closing.close?.());
  const site = await openSiteFolder(join(tempFolder(), "data"), (): Instant => clock.now);
  closing.close = site.close;
  await installNewLicense(site, terms({ product: "cad", slots }));
  const inputOf = (user: string) => ({
    product: "cad",
    user,
    licenseId: null,
    contact: makeContact({ hostname: `ws-${user}`, peer: "10.0.0.1" }),
    identity: null,
    nonce: null,
  });
  return {
    ...site,
    clock,
    claim: async (user: string) => (await site.slots.register(inputOf(user))).ok,
    claimWaiting: (user: string, seconds: number) =>
      site.slots.registerWaiting(inputOf(user), {
        seconds,
        signal: new AbortController().signal,
        isStillAdmitted: () => true,
        beginWait: () => () => {},
      }),
    release: (user: string) =>
      site.slots.unregister({ ...inputOf(user), by: "user", peer: "10.0.0.1" }),
    async apply(rules: RuleSet): Promise<void> {
      unwrap(await site.store.transact(applyRules(rules), () => null));
    },
    async listWaiting(): Promise<string[]> {
      const users: string[] = [];
      const convert = { queue: () => [], place: ({ user }: { readonly user: string }) => [user] };
      for await (const step of site.queue.listInSteps(null, convert))
        users.push(...unwrap(step).flat());
      return users;
    },
  };
}

type Site = Awaited<ReturnType<typeof openSite>>;

async function startWaiting(site: Site, user: string) {
  const reply = site.claimWaiting(user, 100);
  while (!(await site.listWaiting()).includes(user)) await Bun.sleep(1);
  return { reply };
}

const queueRules = (differing: Partial<typeof DEFAULT_QUEUE_RULES>) => ({
  ...DEFAULT_QUEUE_RULES,
  ...differing,
});

describe("a waiting request", () => {
  test("is answered at once when new rules deny its user", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    const [{ reply: ada }, { reply: bob }] = [
      await startWaiting(site, "ada"),
      await startWaiting(site, "bob"),
    ];
    await site.apply(
      ruleSet([group("out", { users: ["ada"] })], poolRules("cad", { deny: named("out") })),
    );
    const { result, place } = await ada;
    expect(result).toMatchObject({ ok: false, fault: { code: "not_allowed_by_rules" } });
    expect(place).toBeNull();
    expect(await site.listWaiting()).toEqual(["bob"]);
    await site.release("zoe");
    expect((await bob).result).toMatchObject({ ok: true, value: { user: "bob" } });
  });

  test("is served before earlier ones if its user has priority", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    await site.apply(
      ruleSet(
        [group("oncall", { users: ["bob"] })],
        poolRules("cad", { queue: queueRules({ priority: ["oncall"] }) }),
      ),
    );
    const [{ reply: ada }, { reply: bob }] = [
      await startWaiting(site, "ada"),
      await startWaiting(site, "bob"),
    ];
    await site.release("zoe");
    expect((await bob).result.ok).toBe(true);
    expect(await site.listWaiting()).toEqual(["ada"]);
    await site.release("bob");
    expect((await ada).result.ok).toBe(true);
  });

  test("waits at a limit of the rules until the person releases a slot", async () => {
    const site = await openSite(5);
    await site.apply(ruleSet([], poolRules("cad", { eachUser: { slots: 1, line: 3 } })));
    expect(await site.claim("ada#1")).toBe(true);
    const { reply } = await startWaiting(site, "ada#2");
    expect(await site.claim("bob")).toBe(true);
    await site.release("bob");
    expect(await site.listWaiting()).toEqual(["ada#2"]);
    await site.release("ada#1");
    expect((await reply).result).toMatchObject({ ok: true, value: { user: "ada#2" } });
  });

  test("gets no place if the queue is full, and one after a place ended", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    await site.apply(ruleSet([], poolRules("cad", { queue: queueRules({ maxWaiting: 1 }) })));
    const { reply } = await startWaiting(site, "ada");
    const refused = await site.claimWaiting("bob", 100);
    expect(refused).toMatchObject({
      result: { ok: false, fault: { code: "floating_not_available" } },
      place: null,
    });
    await site.release("zoe");
    expect((await reply).result.ok).toBe(true);
    expect((await site.claimWaiting("bob", 0)).place).toMatchObject({ position: 1, length: 1 });
  });

  test("takes no slot after its user unregistered, also if one is free", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    const { reply } = await startWaiting(site, "ada");
    // Both in one step, before the free slot is given.
    await Promise.all([site.release("zoe"), site.release("ada")]);
    expect((await reply).result.ok).toBe(false);
    expect(await site.claim("bob")).toBe(true);
  });

  test("is granted a slot that comes free in the same step in which it begins to wait", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    const [reply] = [site.claimWaiting("ada", 100), site.release("zoe")];
    expect((await reply).result).toMatchObject({ ok: true, value: { user: "ada" } });
  });

  test("is answered if its user unregisters in the same step in which it begins to wait", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    const [reply] = [site.claimWaiting("ada", 100), site.release("ada")];
    expect((await reply).result.ok).toBe(false);
    expect(await site.listWaiting()).toEqual([]);
  });

  test("keeps no slot from others after a new limit refuses it the held slot", async () => {
    const site = await openSite(2);
    expect([await site.claim("ada#1"), await site.claim("zoe")]).toEqual([true, true]);
    await site.claimWaiting("ada#2", 0);
    await site.release("zoe");
    expect((await site.claimWaiting("bob", 0)).place).toMatchObject({ position: 1, length: 1 });
    await site.apply(ruleSet([], poolRules("cad", { eachUser: { slots: 1, line: 3 } })));
    const { result, place } = await site.claimWaiting("ada#2", 0);
    expect(result).toMatchObject({ ok: false, fault: { code: "slots_capped" } });
    expect(place).toMatchObject({ position: 1 });
    expect(await site.claim("bob")).toBe(true);
    expect(await site.listWaiting()).toEqual(["ada#2"]);
  });

  test("has the hold time of the rules in its reply", async () => {
    const site = await openSite(1);
    expect(await site.claim("zoe")).toBe(true);
    await site.apply(ruleSet([], poolRules("cad", { queue: queueRules({ holdSeconds: 90 }) })));
    const { place } = await site.claimWaiting("ada", 0);
    expect(place).toMatchObject({ holdSeconds: 90, end: MONDAY + 90_000 });
  });
});

describe("a lent reservation", () => {
  /** One slot is reserved for sim, and lent. Both slots are in use. */
  async function openLentSite(): Promise<Site> {
    const site = await openSite(2);
    await site.apply(
      ruleSet(
        [group("sim", { users: ["sim-*"] })],
        poolRules("cad", { reservations: [reserve("sim", 1, "lend")] }),
      ),
    );
    expect([await site.claim("ada"), await site.claim("bob")]).toEqual([true, true]);
    return site;
  }

  test("is lent again while no member wants a slot", async () => {
    const site = await openLentSite();
    await site.release("ada");
    expect(await site.claim("cyd")).toBe(true);
  });

  test("is lent again as soon as a slot is held for the member who waits for it", async () => {
    const site = await openSite(3);
    await site.apply(
      ruleSet(
        [group("sim", { users: ["sim-*"] })],
        poolRules("cad", { reservations: [reserve("sim", 2, "lend")] }),
      ),
    );
    for (const user of ["ada", "bob", "cyd"]) expect(await site.claim(user)).toBe(true);
    expect((await site.claimWaiting("sim-1", 0)).place).toMatchObject({ position: 1 });
    await site.release("ada");
    await site.release("bob");
    expect(await site.claim("dan")).toBe(true);
    expect(await site.claim("sim-1")).toBe(true);
  });

  test("is kept for the group after a member was refused, also without a wait", async () => {
    const site = await openLentSite();
    expect(await site.claim("sim-1")).toBe(false);
    await site.release("ada");
    expect(await site.claim("cyd")).toBe(false);
    expect(await site.claim("sim-1")).toBe(true);
  });
});
