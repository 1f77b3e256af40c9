import { describe, expect, test } from "bun:test";
import { RefusalCounter } from "../../src/operations/refusal-counter.ts";
import { expectOk, expectRefusal, openAppliance } from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";

describe("a tally", () => {
  test("counts by product and code", () => {
    const tally = new RefusalCounter();
    tally.count("cad", "a", "ada");
    tally.count("cad", "a", "bob");
    tally.count("cad", "b", null);
    tally.count("cam", "a", "ada");
    tally.count(null, "a", null);
    expect(tally.drain()).toEqual([
      { product: "cad", code: "a", count: 2, users: ["ada", "bob"] },
      { product: "cad", code: "b", count: 1, users: [] },
      { product: "cam", code: "a", count: 1, users: ["ada"] },
      { product: null, code: "a", count: 1, users: [] },
    ]);
  });

  test("is empty once it was taken", () => {
    const tally = new RefusalCounter();
    tally.count("cad", "a", "ada");
    expect(tally.drain()).toHaveLength(1);
    expect(tally.drain()).toEqual([]);
    tally.count("cad", "a", "bob");
    expect(tally.drain()).toEqual([{ product: "cad", code: "a", count: 1, users: ["bob"] }]);
  });

  test("takes back what could not be written down, before what came since", () => {
    const tally = new RefusalCounter();
    for (let place = 0; place < 15; place += 1) tally.count("cad", "a", `early-${place}`);
    const taken = tally.drain();
    for (let place = 0; place < 15; place += 1) tally.count("cad", "a", `late-${place}`);
    tally.restore(taken);
    const [bucket] = tally.drain();
    expect(bucket?.count).toBe(30);
    expect(bucket?.users).toHaveLength(20);
    expect(bucket?.users.slice(-15)).toEqual(Array.from({ length: 15 }, (_, at) => `late-${at}`));
    expect(bucket?.users[0]).toBe("early-10");
  });

  test("names each user once, the latest last", () => {
    const tally = new RefusalCounter();
    for (const user of ["ada", "bob", "ada"]) tally.count("cad", "a", user);
    expect(tally.drain()).toEqual([{ product: "cad", code: "a", count: 3, users: ["bob", "ada"] }]);
  });

  test("keeps the last twenty users, and counts them all", () => {
    const tally = new RefusalCounter();
    for (let place = 0; place < 25; place += 1) tally.count("cad", "a", `user-${place}`);
    const [bucket] = tally.drain();
    expect(bucket?.count).toBe(25);
    expect(bucket?.users).toEqual(Array.from({ length: 20 }, (_, place) => `user-${place + 5}`));
  });

  test("does not mix up a product that is called null with none, or names with separators", () => {
    const tally = new RefusalCounter();
    tally.count("null", "a", null);
    tally.count(null, "a", null);
    tally.count('cad","a', "b", null);
    tally.count("cad", 'a","b', null);
    expect(tally.drain().map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });
});

describe("refusals of a running server", () => {
  test("are on record after a clean stop, under the product if there is such a one", async () => {
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
      { product: "cad", code: "floating_not_available", count: 3 },
      { product: null, code: "unknown_product", count: 2 },
    ]);
  });

  test("add up over restarts", async () => {
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
    const last = await openAppliance({ folder: site.folder, licenses: {} });
    expect(unwrap(await last.operations.status()).refusals).toMatchObject([
      { product: "cad", code: "user_not_registered", count: 2 },
    ]);
  });

  test("are not written one by one, and requests that were never understood not at all", async () => {
    const site = await openAppliance();
    const written = site.lastSeq();
    for (let times = 0; times < 50; times += 1) {
      expectRefusal(await site.unregister({ user: `user-${times}` }), 400, "user_not_registered");
      expectRefusal(await site.register({ user: 1 }), 400, "invalid_type");
    }
    expect(site.lastSeq()).toBe(written);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await next.status()).refusals.map(({ code }) => code)).toEqual([
      "user_not_registered",
    ]);
  });
});
