import { beforeEach, describe, expect, test } from "bun:test";
import { placeFacts, takePlace } from "../../../support/queue-commands.ts";
import { install, register, renew } from "../../../support/scenario.ts";
import { QueueSite } from "../queue-site.ts";

let site: QueueSite;

beforeEach(() => {
  site = new QueueSite();
  site.run(install(1, { slots: 1 }));
  site.hold("ada");
});

describe("TakePlace", () => {
  test("records a place with its facts, from the sequence of slot numbers", () => {
    const nextSlot = site.state.nextSlot;
    expect(site.record(takePlace("bob"))).toEqual([
      {
        type: "PlaceTaken",
        at: site.at,
        product: "cad",
        user: "bob",
        place: nextSlot,
        licenseId: null,
        facts: placeFacts(),
        home: null,
        peer: "10.0.0.7",
      },
    ]);
    expect(site.state.nextSlot).toBe(nextSlot + 1);
  });

  test("records nothing for a user who waits already with the same facts", () => {
    const { place } = site.run(takePlace("bob"));
    expect(site.record(takePlace("bob"))).toEqual([]);
    expect(site.run(takePlace("bob"))).toEqual({ product: "cad", place, reason: null });
  });

  test("keeps number, arrival and order when a user waits for another license", () => {
    site.run(install(2, { slots: 0 }));
    site.queue("bob", "cid");
    const before = site.state.queues.get("cad")?.get("bob");
    const { number, since, order } = before ?? {};
    site.wait(1);
    site.run(takePlace("bob", { licenseId: 2 }));
    expect(site.state.queues.get("cad")?.get("bob")).toMatchObject({
      number,
      since,
      order,
      licenseId: 2,
    });
    expect(site.line()).toEqual(["bob", "cid"]);
  });

  test("withdraws a hold when the user waits for another license", () => {
    site.run(install(2, { slots: 1 }));
    site.queue("bob");
    expect(site.serve()).toEqual(["bob"]);
    expect(site.record(takePlace("bob", { licenseId: 1 }))).toMatchObject([
      { type: "HoldWithdrawn", user: "bob", license: 2 },
      { type: "PlaceTaken", user: "bob", licenseId: 1 },
    ]);
    expect(site.holdsOf()).toEqual([]);
  });

  test("withdraws a hold that its user could not collect", () => {
    site.run(install(2, { slots: 1 }));
    site.queue("bob", "cid");
    expect(site.serve()).toEqual(["bob"]);
    site.settings = { slotCaps: { perUser: null, perPeer: 1 } };
    expect(site.refusal(register("bob"))).toBe("slots_capped");
    expect(site.record(takePlace("bob"))).toMatchObject([
      { type: "HoldWithdrawn", user: "bob", license: 2 },
    ]);
    expect(site.line()).toEqual(["bob", "cid"]);
    expect(site.serve()).toEqual([]);
    site.settings = {};
    expect(site.serve()).toEqual(["bob"]);
  });

  test("takes the only product if none is named", () => {
    expect(site.run(takePlace("bob", { product: null })).product).toBe("cad");
    expect(site.line()).toEqual(["bob"]);
  });

  test("is refused without a user", () => {
    expect(site.refusal(takePlace(null))).toBe("missing_parameters");
  });

  test("is refused for a product that is not installed", () => {
    expect(site.refusal(takePlace("bob", { product: "cam" }))).toBe("unknown_product");
  });

  test("is refused for a license that is not installed", () => {
    expect(site.refusal(takePlace("bob", { licenseId: 7 }))).toBe("license_not_found");
  });

  test("is refused while no license of the product is enabled", () => {
    site.run(renew(1, 3, { enabled: false }));
    expect(site.refusal(takePlace("bob"))).toBe("license_not_enabled");
  });

  test("gives no place to a user who holds a slot", () => {
    expect(site.run(takePlace("ada"))).toEqual({
      product: "cad",
      place: null,
      reason: "holds_slot",
    });
    expect(site.line()).toEqual([]);
  });

  test("gives a place for a second license to a user who holds a slot of the first", () => {
    site.run(install(2, { slots: 0 }));
    expect(site.run(takePlace("ada", { licenseId: 2 })).reason).toBeNull();
  });

  test("fills the queue up to 1,000 places without rules", () => {
    site.settings = { maxPlacesPerCaller: Infinity };
    for (let n = 0; n < 999; n += 1) site.run(takePlace(`user-${n}`));
    expect(site.run(takePlace("last")).reason).toBeNull();
    expect(site.run(takePlace("late"))).toEqual({
      product: "cad",
      place: null,
      reason: "queue_full",
    });
    // A user who has a place keeps it in a full queue.
    expect(site.run(takePlace("last", { licenseId: 1 })).reason).toBeNull();
  });
});

describe("places of one caller", () => {
  const from = (address: string) => ({ facts: placeFacts({ address }), peer: address });

  test("are at most 100 per address, under any names", () => {
    for (let n = 0; n < 100; n += 1)
      expect(site.run(takePlace(`user-${n}`, from("10.9.9.9"))).reason).toBeNull();
    expect(site.run(takePlace("user-100", from("10.9.9.9"))).reason).toBe("too_many_places");
    expect(site.run(takePlace("user-100", from("10.9.9.8"))).reason).toBeNull();
  });

  test("are counted for all addresses of an IPv6 subnet together", () => {
    site.settings = { maxPlacesPerCaller: 2 };
    const take = (user: string, address: string) => site.run(takePlace(user, from(address))).reason;
    expect(take("bob", "fd00:1::1")).toBeNull();
    expect(take("cid", "fd00:1::2")).toBeNull();
    expect(take("dan", "fd00:1::3")).toBe("too_many_places");
    expect(take("dan", "fd00:1:0:1::3")).toBeNull();
    // A place that moves within its subnet is counted already.
    expect(take("bob", "fd00:1::9")).toBeNull();
  });

  test("are at most 100 per person, from any addresses", () => {
    for (let n = 0; n < 100; n += 1)
      expect(site.run(takePlace(`bob#${n}`, from(`10.0.1.${n}`))).reason).toBeNull();
    expect(site.run(takePlace("bob#100", from("10.0.2.1"))).reason).toBe("too_many_places");
    expect(site.run(takePlace("cid#100", from("10.0.2.1"))).reason).toBeNull();
  });

  test("are counted over all products", () => {
    site.run(install(2, { product: "cam", slots: 0 }));
    site.settings = { maxPlacesPerCaller: 2 };
    site.run(takePlace("bob#1"));
    site.run(takePlace("bob#2", { product: "cam" }));
    expect(site.run(takePlace("bob#3")).reason).toBe("too_many_places");
  });

  test("cannot grow by waiting again from another address", () => {
    site.settings = { maxPlacesPerCaller: 1 };
    site.run(takePlace("bob", from("10.0.1.1")));
    site.run(takePlace("cid", from("10.0.1.2")));
    expect(site.run(takePlace("bob", from("10.0.1.2"))).reason).toBe("too_many_places");
    expect(site.run(takePlace("bob", from("10.0.1.3"))).reason).toBeNull();
  });

  test("are free again for the address of a user who got a slot", () => {
    site.settings = { maxPlacesPerCaller: 1 };
    site.queue("bob");
    site.run(install(2, { slots: 1 }));
    site.dispatch();
    expect(site.run(takePlace("cid")).reason).toBe("too_many_places");
    site.run(register("bob"));
    expect(site.run(takePlace("cid")).reason).toBeNull();
  });
});
