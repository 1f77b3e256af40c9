import { describe, expect, test } from "bun:test";
import { RefusalCounter } from "../../../src/operations/audit/refusal-counter.ts";
import { expectOk, expectRefusal, openAppliance } from "../../support/appliance.ts";
import { unwrap } from "../../support/licensed-store.ts";

const of = (product: string | null, feature: string | null = null) => ({ product, feature });

describe("RefusalCounter", () => {
  test("counts refusals by product, feature and code", () => {
    const counter = new RefusalCounter();
    counter.count(of("cad"), "a", "ada");
    counter.count(of("cad"), "a", "bob");
    counter.count(of("cad"), "b", null);
    counter.count(of("cam"), "a", "ada");
    counter.count(of(null), "a", null);
    counter.count(of("cad", "plot"), "a", "ada");
    expect(counter.drain()).toEqual([
      { product: "cad", feature: null, code: "a", count: 2, users: ["ada", "bob"] },
      { product: "cad", feature: null, code: "b", count: 1, users: [] },
      { product: "cam", feature: null, code: "a", count: 1, users: ["ada"] },
      { product: null, feature: null, code: "a", count: 1, users: [] },
      { product: "cad", feature: "plot", code: "a", count: 1, users: ["ada"] },
    ]);
  });

  test("is empty after a drain", () => {
    const counter = new RefusalCounter();
    counter.count(of("cad"), "a", "ada");
    expect(counter.drain()).toHaveLength(1);
    expect(counter.drain()).toEqual([]);
    counter.count(of("cad"), "a", "bob");
    expect(counter.drain()).toEqual([
      { product: "cad", feature: null, code: "a", count: 1, users: ["bob"] },
    ]);
  });

  test("restores drained refusals before those counted since", () => {
    const counter = new RefusalCounter();
    for (let index = 0; index < 15; index += 1) counter.count(of("cad"), "a", `early-${index}`);
    const drained = counter.drain();
    for (let index = 0; index < 15; index += 1) counter.count(of("cad"), "a", `late-${index}`);
    counter.restore(drained);
    const [bucket] = counter.drain();
    expect(bucket?.count).toBe(30);
    expect(bucket?.users).toHaveLength(20);
    expect(bucket?.users.slice(-15)).toEqual(Array.from({ length: 15 }, (_, at) => `late-${at}`));
    expect(bucket?.users[0]).toBe("early-10");
  });

  test("lists each user once, the latest last", () => {
    const counter = new RefusalCounter();
    for (const user of ["ada", "bob", "ada"]) counter.count(of("cad"), "a", user);
    expect(counter.drain()).toEqual([
      { product: "cad", feature: null, code: "a", count: 3, users: ["bob", "ada"] },
    ]);
  });

  test("keeps the last 20 users, and counts all refusals", () => {
    const counter = new RefusalCounter();
    for (let index = 0; index < 25; index += 1) counter.count(of("cad"), "a", `user-${index}`);
    const [bucket] = counter.drain();
    expect(bucket?.count).toBe(25);
    expect(bucket?.users).toEqual(Array.from({ length: 20 }, (_, index) => `user-${index + 5}`));
  });

  test("keeps a product called null apart from none, and names with separators apart", () => {
    const counter = new RefusalCounter();
    counter.count(of("null"), "a", null);
    counter.count(of(null), "a", null);
    counter.count(of('cad","a'), "b", null);
    counter.count(of("cad"), 'a","b', null);
    expect(counter.drain().map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });
});

describe("refusals of a running server", () => {
  test("are recorded at a clean stop, under their product if it is installed", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 0 } } });
    for (const user of ["ada", "bob", "ada"]) {
      const answer = await site.register({ user, product: "cad" });
      expectRefusal(answer, 400, "floating_not_available");
    }
    expectRefusal(await site.register({ user: "ada", product: "guess-1" }), 400, "unknown_product");
    expectRefusal(await site.register({ user: "ada", product: "guess-2" }), 400, "unknown_product");
    expect(expectOk(await site.status()).refusals).toEqual([]);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await next.status()).refusals).toEqual([
      { product: "cad", feature: null, code: "floating_not_available", count: 3 },
      { product: null, feature: null, code: "unknown_product", count: 2 },
    ]);
  });

  test("are summed over restarts", async () => {
    const site = await openAppliance();
    expectRefusal(
      await site.unregister({ user: "ada", product: "cad" }),
      400,
      "user_not_registered",
    );
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expectRefusal(
      await next.unregister({ user: "ada", product: "cad" }),
      400,
      "user_not_registered",
    );
    await next.stop();
    const third = await openAppliance({ folder: site.folder, licenses: {} });
    expect(unwrap(await third.applianceStatus.read()).refusals).toMatchObject([
      { product: "cad", feature: null, code: "user_not_registered", count: 2 },
    ]);
  });

  test("are not recorded one by one; invalid requests are not recorded at all", async () => {
    const site = await openAppliance();
    const seqBefore = site.lastSeq();
    for (let attempt = 0; attempt < 50; attempt += 1) {
      expectRefusal(await site.unregister({ user: `user-${attempt}` }), 400, "user_not_registered");
      expectRefusal(await site.register({ user: 1 }), 400, "invalid_type");
    }
    expect(site.lastSeq()).toBe(seqBefore);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await next.status()).refusals.map(({ code }) => code)).toEqual([
      "user_not_registered",
    ]);
  });
});
