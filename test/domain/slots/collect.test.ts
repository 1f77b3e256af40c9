import { beforeEach, describe, expect, test } from "bun:test";
import { viewPlace } from "../../../src/domain/views/queue-view.ts";
import { hoursLater, install, borrow, register, unregister } from "../../support/scenario.ts";
import { unregisterAll } from "../../support/scenario.ts";
import { dropPlace, movePlace, takePlace } from "../../support/queue-commands.ts";
import { QueueSite } from "../queue/queue-site.ts";

let site: QueueSite;

beforeEach(() => {
  site = new QueueSite();
  site.run(install(1, { slots: 1 }));
  site.hold("ada");
  site.queue("bob", "cid");
});

describe("a held slot", () => {
  beforeEach(() => {
    site.run(unregister("ada"));
    site.dispatch();
  });

  test("is collected by register, which ends the place in the same line", () => {
    expect(site.record(register("bob"))).toMatchObject([
      { type: "PlaceLeft", user: "bob", cause: "granted", peer: "10.0.0.7" },
      { type: "SlotTaken", user: "bob", license: 1 },
    ]);
    expect(site.line()).toEqual(["cid"]);
    expect(site.holdsOf()).toEqual([]);
  });

  test("is collected by a borrow, which ends the place in the same line", () => {
    expect(site.record(borrow("bob", hoursLater(3)))).toMatchObject([
      { type: "PlaceLeft", user: "bob", cause: "granted" },
      { type: "SlotTaken", user: "bob" },
      { type: "SlotBorrowed", user: "bob" },
    ]);
  });

  test("cannot be taken by another user", () => {
    expect(site.refusal(register("cid"))).toBe("floating_not_available");
    expect(site.refusal(register("zoe"))).toBe("floating_not_available");
    expect(site.refusal(borrow("zoe"))).toBe("floating_not_available");
  });

  test("does not count against its own user's cap of the settings", () => {
    site.settings = { slotCaps: { perUser: 1, perPeer: 1 } };
    expect(site.refusal(register("bob"))).toBeNull();
  });

  test("cannot be collected from a license that the user did not select", () => {
    site.run(install(2, { slots: 0 }));
    expect(site.refusal(register("bob", { licenseId: 2 }))).toBe("floating_not_available");
    expect(site.holdsOf()).toEqual(["bob"]);
  });

  test("is not counted as a slot in use", () => {
    expect(site.run(register("bob")).slotsInUse).toBe(1);
  });

  test("is free again after its user unregisters", () => {
    expect(site.run(unregister("bob"))).toEqual({ released: 0 });
    expect(site.serve()).toEqual(["cid"]);
  });
});

describe("a place", () => {
  test("ends in the same line when its user gets a slot without a hold", () => {
    site.run(install(2, { slots: 1 }));
    expect(site.record(register("cid"))).toMatchObject([
      { type: "PlaceLeft", user: "cid", cause: "granted" },
      { type: "SlotTaken", user: "cid", license: 2 },
    ]);
  });

  test("stays when its user's heartbeat renews a slot of another license", () => {
    site.run(install(2, { slots: 0 }));
    site.run(takePlace("ada", { licenseId: 2 }));
    site.run(register("ada", { licenseId: 1 }));
    expect(site.line()).toEqual(["bob", "cid", "ada"]);
  });

  test("stays when its user's claim is refused", () => {
    expect(site.refusal(register("bob"))).toBe("floating_not_available");
    expect(site.line()).toEqual(["bob", "cid"]);
  });

  test("is left by unregister, which counts no released slot", () => {
    expect(site.record(unregister("bob"))).toMatchObject([
      { type: "PlaceLeft", user: "bob", cause: "unregistered", peer: "10.0.0.7" },
    ]);
    expect(site.refusal(unregister("bob"))).toBe("user_not_registered");
  });

  test("is dropped by an administrator's release", () => {
    expect(site.record(unregister("bob", { by: "admin" }))).toMatchObject([
      { type: "PlaceLeft", user: "bob", cause: "dropped" },
    ]);
  });

  test("ends together with a slot of the same product", () => {
    site.run(install(2, { slots: 0 }));
    site.run(takePlace("ada", { licenseId: 2 }));
    expect(site.record(unregister("ada"))).toMatchObject([
      { type: "SlotReleased", user: "ada" },
      { type: "PlaceLeft", user: "ada" },
    ]);
  });

  test("stays when its user unregisters from another license than it is for", () => {
    site.run(install(2, { slots: 0 }));
    site.run(takePlace("ada", { licenseId: 2 }));
    site.run(unregister("ada", { licenseId: 1 }));
    expect(site.line()).toContain("ada");
    site.run(unregister("ada", { licenseId: 2 }));
    expect(site.line()).not.toContain("ada");
  });

  test("stays when an administrator releases all slots, and its user gets one of them", () => {
    expect(site.run(unregisterAll())).toEqual({ released: 1, remaining: 0, next: null });
    expect(site.serve()).toEqual(["bob"]);
  });
});

describe("MovePlace", () => {
  test("puts a place before all others", () => {
    expect(site.record(movePlace("cid"))).toMatchObject([
      { type: "PlaceMoved", user: "cid", order: 0, peer: "10.0.0.9" },
    ]);
    expect(site.line()).toEqual(["cid", "bob"]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("puts a place before those that were moved earlier", () => {
    site.queue("dan");
    site.run(movePlace("cid"));
    site.run(movePlace("dan"));
    expect(site.line()).toEqual(["dan", "cid", "bob"]);
  });

  test("records nothing for the place that was moved last", () => {
    site.run(movePlace("cid"));
    expect(site.record(movePlace("cid"))).toEqual([]);
  });

  test("gives no other place the order of a moved place that has a hold", () => {
    site.run(movePlace("cid"));
    site.run(unregister("ada"));
    site.dispatch();
    site.run(movePlace("bob"));
    const orders = [...(site.state.queues.get("cad")?.places ?? [])].map(({ order }) => order);
    expect(new Set(orders).size).toBe(orders.length);
  });

  test("is refused for a user who does not wait", () => {
    expect(site.refusal(movePlace("ada"))).toBe("not_waiting");
    expect(site.refusal(movePlace("bob", "cam"))).toBe("unknown_product");
  });
});

describe("DropPlace", () => {
  test("ends a place", () => {
    expect(site.record(dropPlace("bob"))).toMatchObject([
      { type: "PlaceLeft", user: "bob", cause: "dropped", peer: "10.0.0.9" },
    ]);
    expect(site.line()).toEqual(["cid"]);
  });

  test("frees a held slot for the next user", () => {
    site.run(unregister("ada"));
    site.dispatch();
    site.run(dropPlace("bob"));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("is refused for a user who does not wait", () => {
    expect(site.refusal(dropPlace("ada"))).toBe("not_waiting");
    expect(site.refusal(dropPlace("bob", "cam"))).toBe("unknown_product");
  });
});

describe("the position of a place", () => {
  const positionOf = (user: string) => {
    const view = viewPlace(site.state, "cad", user, site.context);
    return view && [view.place.position, view.length, view.place.state];
  };

  test("counts the places before it, from 1 on", () => {
    expect(positionOf("bob")).toEqual([1, 2, "waiting"]);
    expect(positionOf("cid")).toEqual([2, 2, "waiting"]);
  });

  test("is 0 for a user with a held slot, who is not counted any more", () => {
    site.run(unregister("ada"));
    site.dispatch();
    expect(positionOf("bob")).toEqual([0, 1, "held"]);
    expect(positionOf("cid")).toEqual([1, 1, "waiting"]);
  });

  test("is unknown for a user who does not wait", () => {
    expect(positionOf("ada")).toBeNull();
  });

  test("stays that of the arrival while a cap blocks the place", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 1 } };
    site.run(install(2, { slots: 5 }));
    site.dispatch();
    expect(positionOf("bob")).toEqual([1, 2, "limited"]);
  });
});
