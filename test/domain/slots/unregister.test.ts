import { describe, expect, test } from "bun:test";
import type { Command, OutcomeOf } from "../../../src/domain/decide.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import type { State } from "../../../src/domain/model/state.ts";
import type { ReleasedSlots } from "../../../src/domain/slots/unregister.ts";
import { later, MINUTE } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { contextAt } from "../../support/rule-context.ts";
import {
  justBefore,
  borrow,
  slotBorrowed,
  dumpState,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  replayEvents,
  slotTaken,
  unregister,
  unregisterAll,
} from "../../support/scenario.ts";

describe("unregister", () => {
  const history = given(licenseInstalled(1, { slots: 1 }), slotTaken("ada"));

  test("releases the slot at once for the next user", () => {
    const released = history.at(minutesLater(1)).execute(unregister("ada"));
    released
      .at(minutesLater(1))
      .when(register("bob"))
      .records({ type: "SlotTaken", user: "bob", slot: 2 });
  });

  test("records who released the slot, from which address, and that it was not early", () => {
    history
      .at(minutesLater(1))
      .when(unregister("ada", { by: "admin", peer: "10.0.0.1" }))
      .records({
        type: "SlotReleased",
        at: minutesLater(1),
        license: 1,
        user: "ada",
        slot: 1,
        by: "admin",
        peer: "10.0.0.1",
        early: false,
      })
      .answers({ released: 1 });
  });

  test("refuses a user who holds no slot, from the instant the slot ends", () => {
    history.at(MONDAY).when(unregister("bob")).refuses({ code: "user_not_registered" });
    history
      .at(justBefore(minutesLater(30)))
      .when(unregister("ada"))
      .records({ type: "SlotReleased" });
    history.at(minutesLater(30)).when(unregister("ada")).refuses({ code: "user_not_registered" });
  });

  test("refuses a call without a user", () => {
    const fault = { code: "missing_parameters", fields: ["user"] } as const;
    history.at(MONDAY).when(unregister(null)).refuses(fault);
  });

  test("releases a slot of a license that has expired meanwhile", () => {
    given(licenseInstalled(1, { validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(10))
      .when(unregister("ada"))
      .records({ type: "SlotReleased" });
  });

  test("releases the user's slots of all licenses of the product, or of the named one", () => {
    const twoLicenses = given(
      licenseInstalled(1),
      licenseInstalled(2),
      slotTaken("ada"),
      slotTaken("ada", { license: 2, slot: 2 }),
    );
    twoLicenses
      .at(MONDAY)
      .when(unregister("ada"))
      .records({ type: "SlotReleased", license: 2 }, { type: "SlotReleased", license: 1 });
    twoLicenses
      .at(MONDAY)
      .when(unregister("ada", { licenseId: 1 }))
      .records({ type: "SlotReleased", license: 1 });
  });

  test("releases the user's feature slots, and no other user's", () => {
    const floating = { slots: 2, timeoutMinutes: 10 };
    given(
      licenseInstalled(1, {
        features: [featureTerms("mesh", { floating }), featureTerms("ray", { floating })],
      }),
    )
      .at(MONDAY)
      .execute(register("ada"), register("bob"), registerFeature("ada", "mesh"))
      .at(minutesLater(5))
      .execute(registerFeature("ada", "ray"), registerFeature("bob", "ray"))
      .at(minutesLater(10))
      .when(unregister("ada"))
      .expires({ type: "FeatureExpired", at: minutesLater(10), feature: "mesh", user: "ada" })
      .records(
        { type: "FeatureReleased", feature: "ray", user: "ada", slot: 4, by: "user" },
        { type: "SlotReleased", user: "ada", slot: 1 },
      );
  });
});

describe("unregister all", () => {
  const history = given(
    licenseInstalled(1, { slots: 3 }),
    licenseInstalled(2, { product: "cam" }),
    slotTaken("ada"),
    slotTaken("bob", { slot: 2, end: minutesLater(90) }),
    slotTaken("eve", { license: 2, slot: 3, end: minutesLater(90) }),
  );

  test("releases all slots of all products that are held at that instant", () => {
    history
      .at(minutesLater(30))
      .when(unregisterAll())
      .expires({ type: "SlotExpired", user: "ada" })
      .records(
        { type: "SlotReleased", user: "bob", by: "admin", peer: "10.0.0.1" },
        { type: "SlotReleased", user: "eve", license: 2 },
      )
      .answers({ released: 2 });
  });

  test("releases only the slots of the named product", () => {
    history
      .at(minutesLater(30))
      .when(unregisterAll("cam"))
      .expires()
      .records({ type: "SlotReleased", user: "eve" })
      .answers({ released: 1 });
  });

  test("releases feature slots too, and counts license slots only", () => {
    const mesh = featureTerms("mesh", { floating: { slots: 2, timeoutMinutes: 10 } });
    given(licenseInstalled(1, { features: [mesh] }))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "mesh"))
      .at(minutesLater(1))
      .when(unregisterAll())
      .records({ type: "FeatureReleased", by: "admin" }, { type: "SlotReleased", by: "admin" })
      .answers({ released: 1 });
  });

  test("writes nothing when no slot is held, and refuses an unknown product", () => {
    history.at(minutesLater(90)).when(unregisterAll()).records().answers({ released: 0 });
    history.at(MONDAY).when(unregisterAll("toString")).refuses({ code: "unknown_product" });
  });
});

describe("unregister/all of a range of slots", () => {
  const mesh = featureTerms("mesh", { floating: { slots: 9, timeoutMinutes: 90 } });
  const history: Event[] = [
    licenseInstalled(1, { slots: 9, features: [mesh], earlyReturn: false }),
    licenseInstalled(2, { slots: 9 }),
    slotTaken("ada", { slot: 1 }),
    slotTaken("bob", { slot: 2, license: 2, end: minutesLater(5) }),
    slotTaken("cid", { slot: 3 }),
    slotBorrowed("cid", hoursLater(8), 3),
    slotTaken("dan", { slot: 4, license: 2 }),
    slotTaken("ada", { slot: 5, license: 2 }),
    slotTaken("eve", { slot: 6 }),
  ];
  const at = minutesLater(10);

  /** Each part until the end of the range; each with a command of its own. */
  function releaseInParts(limit: number, until: number) {
    const state = replayEvents(history);
    execute(state, registerFeature("eve", "mesh"));
    let [released, remaining, parts] = [0, 0, 0];
    for (let after: number | null = 0; after !== null;) {
      const range = { after, until, limit };
      const outcome: ReleasedSlots = execute(state, { ...unregisterAll(), range });
      released += outcome.released;
      remaining += outcome.remaining;
      parts += 1;
      after = outcome.next;
    }
    return { released, remaining, parts, state: dumpState(state) };
  }

  function execute<C extends Command>(state: State, command: C): OutcomeOf<C> {
    return unwrap(transact(state, command, contextAt(at))).outcome;
  }

  test.each([1, 2, 3, 5, 8])("in parts of %i releases what all at once releases", (limit) => {
    const { parts: _one, ...atOnce } = releaseInParts(Infinity, Infinity);
    expect(atOnce).toMatchObject({ released: 4, remaining: 1 });
    const { parts, ...inParts } = releaseInParts(limit, 6);
    expect(inParts).toEqual(atOnce);
    expect(parts).toBeGreaterThan(1);
  });

  test("leaves the slots after its end", () => {
    expect(releaseInParts(Infinity, 4)).toMatchObject({ released: 2, remaining: 1, parts: 1 });
  });
});

describe("unregister without early return", () => {
  const history = given(
    licenseInstalled(1, { slots: 2, earlyReturn: false }),
    slotTaken("ada"),
    slotBorrowed("ada", hoursLater(8)),
  );
  const refused = { code: "early_return_not_allowed", until: hoursLater(8) } as const;

  test("refuses to release a borrowed slot before its end, also for an administrator", () => {
    for (const by of ["user", "admin"] as const) {
      history
        .at(justBefore(hoursLater(8)))
        .when(unregister("ada", { by }))
        .refuses(refused);
    }
  });

  test("leaves a borrowed slot and releases the others when all are unregistered", () => {
    history
      .at(minutesLater(10))
      .execute(register("bob"))
      .at(minutesLater(11))
      .when(unregisterAll())
      .records({ type: "SlotReleased", user: "bob" })
      .answers({ released: 1 });
  });

  test("lets a repeated borrow move the end later but not earlier", () => {
    history
      .at(hoursLater(1))
      .when(borrow("ada", justBefore(hoursLater(8))))
      .refuses(refused);
    history
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotBorrowed" });
    history
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", until: hoursLater(9) });
  });

  test("releases a slot that was never borrowed or whose borrow has ended", () => {
    const registered = given(licenseInstalled(1, { earlyReturn: false }), slotTaken("ada"));
    registered.at(MONDAY).when(unregister("ada")).records({ type: "SlotReleased" });
    const afterBorrow = history.at(later(hoursLater(8), -MINUTE)).execute(register("ada"));
    afterBorrow
      .at(hoursLater(8))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: false });
    afterBorrow
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", early: false });
  });
});
