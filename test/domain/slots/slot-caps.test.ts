import { expect, test } from "bun:test";
import type { Registration } from "../../../src/domain/model/slots/registration.ts";
import type { SlotCaps } from "../../../src/domain/model/rule-context.ts";
import type { State } from "../../../src/domain/model/state.ts";
import type { Command } from "../../../src/domain/decide.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { PeerIndex } from "../../../src/domain/model/slots/peer-index.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { makeNewSite, VENDOR } from "../../support/new-site.ts";
import {
  borrow,
  CONTACT,
  hoursLater,
  install,
  minutesLater,
  MONDAY,
  register,
  unregister,
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import { makeContact } from "../../support/contact.ts";

interface CappedSite {
  readonly state: State;
  readonly slotCaps: SlotCaps;
}

function makeCappedSite(caps: Partial<SlotCaps>): CappedSite {
  const state = makeNewSite();
  state.vendors.set(VENDOR.vendor, { ...VENDOR, products: ["p1", "p2", "p3"] });
  const site = { state, slotCaps: { perUser: null, perPeer: null, ...caps } };
  for (const id of [1, 2, 3]) runCommand(site, install(id, { product: `p${id}`, slots: 9 }));
  return site;
}

function runCommand(site: CappedSite, command: Command, at: Instant = MONDAY): string {
  const { state, slotCaps } = site;
  const result = transact(state, command, contextAt(at, { slotCaps }));
  return result.ok ? "ok" : result.fault.code;
}

const registerFrom = (user: string, product: string, peer: string): Command =>
  register(user, { product, contact: makeContact({ peer }) });

test("perUser limits the slots of one user over all licenses", () => {
  const site = makeCappedSite({ perUser: 2 });
  expect(["p1", "p2", "p3"].map((p) => runCommand(site, registerFrom("ada", p, "a")))).toEqual([
    "ok",
    "ok",
    "slots_capped",
  ]);
  expect(runCommand(site, borrow("ada", null, { product: "p3" }))).toBe("slots_capped");
  expect(runCommand(site, registerFrom("ada", "p1", "a"))).toBe("ok");
  expect(runCommand(site, unregister("ada", { product: "p1" }))).toBe("ok");
  expect(runCommand(site, registerFrom("ada", "p3", "a"))).toBe("ok");
});

test("perPeer limits the slots of one address over all users", () => {
  const site = makeCappedSite({ perPeer: 2 });
  expect(runCommand(site, registerFrom("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(runCommand(site, registerFrom("bob", "p2", "10.0.0.1"))).toBe("ok");
  expect(runCommand(site, registerFrom("eve", "p3", "10.0.0.1"))).toBe("slots_capped");
  expect(runCommand(site, registerFrom("eve", "p3", "10.0.0.2"))).toBe("ok");
  // A heartbeat from another address moves the slot to that address.
  expect(runCommand(site, registerFrom("ada", "p1", "10.0.0.2"))).toBe("ok");
  expect(runCommand(site, registerFrom("eve", "p1", "10.0.0.1"))).toBe("ok");
  expect(runCommand(site, registerFrom("mal", "p1", "10.0.0.2"))).toBe("slots_capped");
});

test("slot caps do not count an ended slot whose expiry is not yet recorded", () => {
  const site = makeCappedSite({ perPeer: 1, perUser: 1 });
  expect(runCommand(site, registerFrom("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(runCommand(site, registerFrom("ada", "p2", "10.0.0.1"), minutesLater(29))).toBe(
    "slots_capped",
  );
  expect(runCommand(site, registerFrom("ada", "p2", "10.0.0.1"), minutesLater(30))).toBe("ok");
});

test("perPeer counts the slots of an address again after a restart", () => {
  const before = makeCappedSite({});
  expect(runCommand(before, registerFrom("ada", "p1", "10.0.0.1"))).toBe("ok");
  const state = decodeSnapshot(encodeSnapshot(before.state, genesisHead, emptyAuditLogEnd));
  const site = { state, slotCaps: { perUser: null, perPeer: 1 } };
  expect(runCommand(site, registerFrom("bob", "p2", "10.0.0.1"))).toBe("slots_capped");
});

test("perPeer no longer counts the slots of a removed license", () => {
  const site = makeCappedSite({ perPeer: 1 });
  expect(runCommand(site, registerFrom("ada", "p1", "10.0.0.1"))).toBe("ok");
  expect(runCommand(site, { type: "LicenseRemove", license: 1, withBorrows: true, peer: "" })).toBe(
    "ok",
  );
  expect(runCommand(site, registerFrom("bob", "p2", "10.0.0.1"))).toBe("ok");
});

test("perPeer counts the moved slots after the clock is set back", () => {
  const site = makeCappedSite({ perPeer: 1 });
  expect(runCommand(site, registerFrom("ada", "p1", "10.0.0.1"), hoursLater(2))).toBe("ok");
  evolve(site.state, {
    type: "ClockSetBack",
    at: MONDAY,
    from: hoursLater(2),
    to: MONDAY,
    peer: "",
  });
  expect(runCommand(site, registerFrom("bob", "p2", "10.0.0.1"), minutesLater(29))).toBe(
    "slots_capped",
  );
  expect(runCommand(site, registerFrom("bob", "p2", "10.0.0.1"), minutesLater(30))).toBe("ok");
  expect(runCommand(site, unregister("bob", { product: "p2" }), minutesLater(30))).toBe("ok");
  expect(runCommand(site, registerFrom("eve", "p3", "10.0.0.1"), minutesLater(30))).toBe("ok");
});

test("PeerIndex refuses to remove a registration that it does not have", () => {
  const makeRegistration = (slot: number): Registration => ({
    slot,
    user: `user-${slot}`,
    registeredAt: MONDAY,
    end: hoursLater(1),
    setAt: MONDAY,
    lastSeenAt: MONDAY,
    borrowedUntil: null,
    borrowedAt: null,
    leasedTo: null,
    contact: CONTACT,
    contactAuditedAt: null,
    isContactUnaudited: false,
    takenFrom: CONTACT,
    identity: null,
  });
  const [ada, bob] = [makeRegistration(1), makeRegistration(2)];
  const index = new PeerIndex();
  expect(() => index.remove(ada)).toThrow("not indexed by its address");
  index.add(ada);
  expect(() => index.remove(bob)).toThrow("not indexed by its address");
  index.add(bob);
  expect(() => index.remove({ ...bob })).toThrow("not in the list");
  index.remove(ada);
  expect([1, 2].map((slots) => index.hasAtLeast(CONTACT.peer, slots, MONDAY))).toEqual([
    true,
    false,
  ]);
  index.remove(bob);
  expect(index.hasAtLeast(CONTACT.peer, 1, MONDAY)).toBe(false);
});
