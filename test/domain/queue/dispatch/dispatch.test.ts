import { beforeEach, describe, expect, test } from "bun:test";
import { countHolds } from "../../../../src/domain/queue/holds.ts";
import { DAY, later } from "../../../../src/domain/time.ts";
import { makeRequestCommand, requestIdFor } from "../../../support/new-site.ts";
import { dispatch, movePlace, placeFacts, takePlace } from "../../../support/queue-commands.ts";
import {
  install,
  register,
  remove,
  renew,
  unregister,
  unregisterAll,
} from "../../../support/scenario.ts";
import { QueueSite } from "../queue-site.ts";
import { makeContact } from "../../../support/contact.ts";

let site: QueueSite;

beforeEach(() => {
  site = new QueueSite();
  site.run(install(1, { slots: 2 }));
  site.hold("ada", "ben");
});

describe("Dispatch", () => {
  test("does nothing without a queue", () => {
    expect(site.run(dispatch())).toEqual({ change: null });
  });

  test("gives no hold while all slots are taken", () => {
    site.queue("cid");
    expect(site.dispatch()).toEqual([]);
  });

  test("gives a freed slot to the user who waits longest", () => {
    site.queue("cid", "dan");
    site.run(unregister("ada"));
    expect(site.record(dispatch())).toMatchObject([
      { type: "HoldGiven", product: "cad", user: "cid", license: 1 },
    ]);
    expect(site.run(dispatch())).toEqual({ change: null });
  });

  test("gives a slot that ended without an event, and records its expiry first", () => {
    site.queue("cid");
    site.wait(30);
    const before = site.events.length;
    expect(site.dispatch()).toEqual([{ kind: "held", user: "cid", license: 1 }]);
    expect(site.events.slice(before).map(({ type }) => type)).toEqual([
      "SlotExpired",
      "SlotExpired",
      "HoldGiven",
    ]);
  });

  test("gives no hold one millisecond before a slot ends", () => {
    site.queue("cid");
    site.wait(30);
    site.at = later(site.at, -1);
    expect(site.dispatch()).toEqual([]);
  });

  test("gives every freed slot, one with each command, in the order of arrival", () => {
    site.queue("cid", "dan", "eve");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["cid", "dan"]);
    expect(site.line()).toEqual(["eve"]);
  });

  test("counts holds: a held slot is given to no other user", () => {
    site.queue("cid", "dan");
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
    expect(site.refusal(register("eve"))).toBe("floating_not_available");
    expect(site.serve()).toEqual([]);
  });

  test("gives a slot to a user who waits for that license, not to one who waits for another", () => {
    site.run(install(2, { slots: 0 }));
    site.run(takePlace("cid", { licenseId: 2 }));
    site.run(takePlace("dan", { licenseId: 1 }));
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["dan"]);
    expect(site.line()).toEqual(["cid"]);
  });

  test("serves users of one license and of any license in the order of arrival", () => {
    site.run(takePlace("cid"));
    site.run(takePlace("dan", { licenseId: 1 }));
    site.run(takePlace("eve"));
    site.run(unregister("ada"));
    site.run(unregister("ben"));
    expect(site.serve()).toEqual(["cid", "dan"]);
  });

  test("gives nothing from a license that is not enabled", () => {
    site.queue("cid");
    site.run(renew(1, 3, { slots: 9, enabled: false }));
    expect(site.dispatch()).toEqual([]);
    expect(site.line()).toEqual(["cid"]);
    site.run(renew(1, 4, { slots: 9 }));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("gives nothing from a license with an end while the clock is suspect", () => {
    site.run(renew(1, 3, { slots: 9, validUntil: later(site.at, 90 * DAY) }));
    site.queue("cid");
    site.settings = { clockBehind: 2 * DAY };
    expect(site.dispatch()).toEqual([]);
    site.settings = {};
    expect(site.serve()).toEqual(["cid"]);
  });

  test("serves a product alone: a freed slot of another product changes nothing", () => {
    site.run(install(2, { product: "cam", slots: 1 }));
    site.queue("cid");
    expect(site.dispatch("cam")).toEqual([]);
    expect(site.dispatch("cad")).toEqual([]);
  });
});

describe("places that end", () => {
  test("a lapsed place leaves the queue", () => {
    site.queue("cid", "dan");
    expect(site.record(dispatch("cad", ["cid"]))).toMatchObject([
      { type: "PlaceLeft", user: "cid", cause: "lapsed" },
    ]);
    expect(site.line()).toEqual(["dan"]);
  });

  test("a lapsed hold goes to the next user", () => {
    site.queue("cid", "dan");
    site.run(unregister("ada"));
    site.dispatch();
    expect(site.dispatch("cad", ["cid"])).toEqual([
      { kind: "lapsed", user: "cid", license: null },
      { kind: "held", user: "dan", license: 1 },
    ]);
  });

  test("a lapsed user without a place is ignored", () => {
    site.queue("cid");
    expect(site.dispatch("cad", ["zoe"])).toEqual([]);
  });

  test("a place for a removed license leaves the queue", () => {
    site.run(install(2, { slots: 0 }));
    site.run(takePlace("cid", { licenseId: 2 }));
    site.run(takePlace("dan"));
    site.run(remove(2));
    expect(site.dispatch()).toEqual([{ kind: "license_gone", user: "cid", license: null }]);
    expect(site.line()).toEqual(["dan"]);
  });

  test("all places leave with the last license of the product", () => {
    site.queue("cid", "dan");
    site.run(remove(1));
    expect(site.dispatch().map(({ kind, user }) => `${user} ${kind}`)).toEqual([
      "cid license_gone",
      "dan license_gone",
    ]);
    expect(site.state.queues.size).toBe(0);
  });

  test.each([
    ["", false],
    [" after a restart", true],
  ])("the oldest place leaves first, also if it was changed last%s", (_when, restarts) => {
    site.queue("cid", "dan", "eve");
    site.run(remove(1));
    site.run(movePlace("cid"));
    if (restarts) site.restart();
    expect(site.dispatch().map(({ user }) => user)).toEqual(["cid", "dan", "eve"]);
  });

  test("a place stays if its license is installed again before the queue is served", () => {
    site.queue("cid");
    site.run(remove(1));
    site.run(makeRequestCommand(requestIdFor(2)));
    site.run(install(2, { slots: 1 }));
    expect(site.serve()).toEqual(["cid"]);
  });
});

describe("holds that are withdrawn", () => {
  beforeEach(() => {
    site.run(unregisterAll());
    site.queue("cid", "dan");
    site.dispatch();
  });

  test("a smaller license withdraws the newest hold first", () => {
    site.run(renew(1, 3, { slots: 1 }));
    expect(site.record(dispatch())).toMatchObject([
      { type: "HoldWithdrawn", user: "dan", license: 1 },
    ]);
    expect(site.run(dispatch())).toEqual({ change: null });
    expect(site.holdsOf()).toEqual(["cid"]);
  });

  test.each([
    ["", false],
    [" after a restart", true],
  ])("are those of the license with the lowest number first%s", (_when, restarts) => {
    site.run(install(2, { slots: 1 }));
    site.run(install(3, { slots: 1 }));
    site.run(takePlace("dan", { licenseId: 3 }));
    site.run(takePlace("eve", { licenseId: 2 }));
    expect(site.serve()).toEqual(["dan", "eve"]);
    site.run(renew(2, 3, { slots: 0 }));
    site.run(renew(3, 3, { slots: 0 }));
    if (restarts) site.restart();
    expect(site.dispatch().map(({ user }) => user)).toEqual(["eve", "dan"]);
  });

  test("the user of a withdrawn hold keeps the arrival", () => {
    site.run(takePlace("eve"));
    site.run(renew(1, 3, { slots: 0 }));
    site.dispatch();
    expect(site.line()).toEqual(["cid", "dan", "eve"]);
    site.run(renew(1, 4, { slots: 1 }));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("a license that ends withdraws all holds, and the users go on waiting", () => {
    site.run(renew(1, 3, { slots: 2, validUntil: later(site.at, DAY) }));
    site.at = later(site.at, DAY - 1);
    expect(site.dispatch()).toEqual([]);
    site.at = later(site.at, 1);
    expect(site.dispatch().map(({ kind, user }) => `${user} ${kind}`)).toEqual([
      "dan withdrawn",
      "cid withdrawn",
    ]);
    expect(site.line()).toEqual(["cid", "dan"]);
  });

  test("removing the license turns its holds into waiting places without an event", () => {
    site.run(install(2, { slots: 0 }));
    site.run(remove(1));
    expect(site.holdsOf()).toEqual([]);
    expect(site.line()).toEqual(["cid", "dan"]);
    expect(site.dispatch()).toEqual([]);
  });

  test("a hold of a smaller license moves to another license with a free slot", () => {
    site.run(renew(1, 3, { slots: 1 }));
    site.run(install(2, { slots: 1 }));
    expect(site.dispatch()).toEqual([
      { kind: "withdrawn", user: "dan", license: 1 },
      { kind: "held", user: "dan", license: 2 },
    ]);
  });

  test("a hold beyond the slots of a smaller license cannot be collected before the dispatch", () => {
    site.run(renew(1, 3, { slots: 1 }));
    expect(site.refusal(register("dan"))).toBe("floating_not_available");
    site.dispatch();
    expect(site.refusal(register("cid"))).toBeNull();
  });
});

describe("users who are blocked by a cap of the settings", () => {
  const from = (address: string) => ({ facts: placeFacts({ address }), peer: address });

  test("are passed over, and keep their arrival until a slot of their address is released", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 9 }));
    // Ada and Ben hold two slots from this address.
    site.queue("cid", "dan");
    site.run(takePlace("eve", from("10.0.0.8")));
    expect(site.serve()).toEqual(["eve"]);
    expect(site.line()).toEqual(["cid", "dan"]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("come back when a slot of their address ends without an event", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan", "eve");
    expect(site.serve()).toEqual([]);
    site.wait(20);
    site.run(register("ben"));
    site.wait(10);
    expect(site.serve()).toEqual(["cid"]);
    site.wait(20);
    expect(site.serve()).toEqual(["dan"]);
  });

  test("come back when a slot is renewed from another address", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid");
    expect(site.serve()).toEqual([]);
    site.run(register("ada", { contact: makeContact({ peer: "10.0.0.8" }) }));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("come back when the setting is raised", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan");
    expect(site.serve()).toEqual([]);
    site.settings = { slotCaps: { perUser: null, perPeer: 3 } };
    expect(site.serve()).toEqual(["cid"]);
  });

  test("get no hold for more slots than the cap, with holds and slots counted together", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 4 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan", "eve", "fay");
    expect(site.serve()).toEqual(["cid", "dan"]);
    expect(site.refusal(register("gus"))).toBe("slots_capped");
    expect(site.refusal(register("dan"))).toBeNull();
    expect(site.serve()).toEqual([]);
  });

  test("come back when a hold of their address lapses", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 3 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan");
    expect(site.serve()).toEqual(["cid"]);
    expect(site.dispatch("cad", ["cid"]).map(({ user }) => user)).toEqual(["cid", "dan"]);
  });

  test("wait for their own slot of another product", () => {
    site.settings = { slotCaps: { perUser: 1, perPeer: null } };
    site.run(install(2, { product: "cam", slots: 5 }));
    site.run(takePlace("ada", { product: "cam" }));
    site.run(takePlace("cid", { product: "cam" }));
    expect(site.serve("cam")).toEqual(["cid"]);
    site.run(unregister("ada"));
    expect(site.serve("cam")).toEqual(["ada"]);
  });

  test("are served before later users once they come back", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 3 }));
    site.queue("cid");
    for (const user of ["eve", "fay"]) site.run(takePlace(user, from("10.0.0.8")));
    expect(site.serve()).toEqual(["eve"]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
  });

  test("are served in the order of service when one of them is moved to the front", () => {
    site.settings = { slotCaps: { perUser: null, perPeer: 2 } };
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan", "eve");
    expect(site.serve()).toEqual([]);
    site.run(movePlace("eve"));
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["eve"]);
    site.run(unregister("ben"));
    expect(site.serve()).toEqual(["cid"]);
  });
});

test("a hold counts as one slot of its license until it is collected", () => {
  site.queue("cid");
  site.run(unregister("ada"));
  site.dispatch();
  const license = site.state.licenses.get(1);
  if (license === undefined) throw new Error("the license is not installed");
  expect(countHolds(site.state, license)).toBe(1);
  site.run(register("cid"));
  expect(countHolds(site.state, license)).toBe(0);
});
