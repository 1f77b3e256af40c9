import { expect, test } from "bun:test";
import type { Registration } from "../../src/domain/registration.ts";
import type { SlotCaps, State } from "../../src/domain/state.ts";
import type { Command } from "../../src/domain/command.ts";
import { evolve } from "../../src/domain/evolve.ts";
import { PeerIndex } from "../../src/domain/peer-index.ts";
import type { Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { emptyAuditLogEnd } from "../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state-rows.ts";
import { genesisHead } from "../../src/store/journal.ts";
import { makeNewSite, VENDOR } from "../support/new-site.ts";
import {
  borrow,
  CONTACT,
  hoursLater,
  install,
  minutesLater,
  MONDAY,
  register,
  unregister,
} from "../support/scenario.ts";

function site(caps: Partial<SlotCaps>): State {
  const state = makeNewSite();
  state.vendors.set(VENDOR.vendor, { ...VENDOR, products: ["p1", "p2", "p3"] });
  for (const id of [1, 2, 3]) act(state, install(id, { product: `p${id}`, slots: 9 }));
  state.slotCaps = { perUser: null, perPeer: null, ...caps };
  return state;
}

function act(state: State, command: Command, at: Instant = MONDAY): string {
  const done = transact(state, command, at);
  return done.ok ? "ok" : done.fault.code;
}

const from = (user: string, product: string, peer: string): Command =>
  register(user, { product, contact: { hostname: "", ip: "", info: "", peer } });

test("one user holds no more slots than the cap, over all licenses", () => {
  const state = site({ perUser: 2 });
  expect(["p1", "p2", "p3"].map((p) => act(state, from("ada", p, "a")))).toEqual([
    "ok",
    "ok",
    "slots_capped",
  ]);
  expect(act(state, borrow("ada", null, { product: "p3" }))).toBe("slots_capped");
  expect(act(state, from("ada", "p1", "a"))).toBe("ok");
  expect(act(state, unregister("ada", { product: "p1" }))).toBe("ok");
  expect(act(state, from("ada", "p3", "a"))).toBe("ok");
});

test("one address holds no more slots than the cap, whoever speaks from it", () => {
  const state = site({ perPeer: 2 });
  expect(act(state, from("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(act(state, from("bob", "p2", "10.0.0.1"))).toBe("ok");
  expect(act(state, from("eve", "p3", "10.0.0.1"))).toBe("slots_capped");
  expect(act(state, from("eve", "p3", "10.0.0.2"))).toBe("ok");
  // A heartbeat from elsewhere takes the slot along.
  expect(act(state, from("ada", "p1", "10.0.0.2"))).toBe("ok");
  expect(act(state, from("eve", "p1", "10.0.0.1"))).toBe("ok");
  expect(act(state, from("mal", "p1", "10.0.0.2"))).toBe("slots_capped");
});

test("a slot that ended does not count, though nobody has written it off", () => {
  const state = site({ perPeer: 1, perUser: 1 });
  expect(act(state, from("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(act(state, from("ada", "p2", "10.0.0.1"), minutesLater(29))).toBe("slots_capped");
  expect(act(state, from("ada", "p2", "10.0.0.1"), minutesLater(30))).toBe("ok");
});

test("what an address holds is known again after a restart", () => {
  const before = site({});
  expect(act(before, from("ada", "p1", "10.0.0.1"))).toBe("ok");
  const state = decodeSnapshot(encodeSnapshot(before, genesisHead, emptyAuditLogEnd));
  state.slotCaps = { perUser: null, perPeer: 1 };
  expect(act(state, from("bob", "p2", "10.0.0.1"))).toBe("slots_capped");
});

test("a license that is given back takes its slots along", () => {
  const state = site({ perPeer: 1 });
  expect(act(state, from("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(act(state, { type: "RemoveLicense", license: 1, withBorrows: true, peer: "" })).toBe("ok");
  expect(act(state, from("bob", "p2", "10.0.0.1"))).toBe("ok");
});

test("a clock set back moves what an address holds, and leaves nothing of it behind", () => {
  const state = site({ perPeer: 1 });
  expect(act(state, from("ada", "p1", "10.0.0.1"), hoursLater(2))).toBe("ok");
  evolve(state, { type: "ClockSetBack", at: MONDAY, from: hoursLater(2), to: MONDAY, peer: "" });
  expect(act(state, from("bob", "p2", "10.0.0.1"), minutesLater(29))).toBe("slots_capped");
  expect(act(state, from("bob", "p2", "10.0.0.1"), minutesLater(30))).toBe("ok");
  expect(act(state, unregister("bob", { product: "p2" }), minutesLater(30))).toBe("ok");
  expect(act(state, from("eve", "p3", "10.0.0.1"), minutesLater(30))).toBe("ok");
});

test("an address gives nobody back whom it does not have", () => {
  const at = (slot: number): Registration => ({
    slot,
    user: `user-${slot}`,
    registeredAt: MONDAY,
    end: hoursLater(1),
    setAt: MONDAY,
    borrowedUntil: null,
    borrowedAt: null,
    leasedTo: null,
    contact: CONTACT,
    contactAuditedAt: null,
    isContactUnaudited: false,
  });
  const [ada, bob] = [at(1), at(2)];
  const index = new PeerIndex();
  expect(() => index.remove(ada)).toThrow("does not know");
  index.add(ada);
  expect(() => index.remove(bob)).toThrow("does not know");
  index.add(bob);
  expect(() => index.remove({ ...bob })).toThrow("not where it belongs");
  index.remove(ada);
  expect([1, 2].map((slots) => index.hasAtLeast(CONTACT.peer, slots, MONDAY))).toEqual([
    true,
    false,
  ]);
  index.remove(bob);
  expect(index.hasAtLeast(CONTACT.peer, 1, MONDAY)).toBe(false);
});
