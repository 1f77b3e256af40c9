import { describe, expect, test } from "bun:test";
import type { SlotTaken } from "../../src/domain/event.ts";
import { limits } from "../../src/domain/limits.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewLicense } from "../../src/domain/views.ts";
import {
  justBefore,
  borrow,
  consume,
  consumptionTerms,
  dumpState,
  featureTerms,
  given,
  hoursLater,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  replayEvents,
  slotTaken,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";

/** Users gone in order, one every minute from the first minute on. */
const crowd = (count: number): SlotTaken[] =>
  Array.from({ length: count }, (_, i) =>
    slotTaken(`u${i}`, { slot: i + 1, end: minutesLater(i + 1) }),
  );

const crowded = { slots: 99, timeoutMinutes: 5 };
const mesh = featureTerms("mesh", { floating: crowded });

describe("what ran out meanwhile", () => {
  const history = given(licenseInstalled(1, { slots: 3 }), ...crowd(3));

  test("is written before the command, a line each, dated at its true end", () => {
    history
      .at(minutesLater(2))
      .when(register("ada"))
      .expires(
        { type: "SlotExpired", at: minutesLater(1), license: 1, user: "u0", slot: 1 },
        { type: "SlotExpired", at: minutesLater(2), license: 1, user: "u1", slot: 2 },
      )
      .records({ type: "SlotTaken", at: minutesLater(2), slot: 4 });
  });

  test("waits while it is still held by one millisecond", () => {
    history
      .at(justBefore(minutesLater(1)))
      .when(install(1, { slots: 9 }))
      .expires();
    history
      .at(minutesLater(1))
      .when(install(1, { slots: 9 }))
      .expires({ type: "SlotExpired", user: "u0" });
  });

  test("is written with any event of its license, and with none of another", () => {
    const cam = licenseInstalled(2, { product: "cam", consumption: consumptionTerms() });
    const both = given(
      licenseInstalled(1, { consumption: consumptionTerms() }),
      ...crowd(1),
      cam,
    ).at(minutesLater(9));
    both.when(consume(1)).expires({ type: "SlotExpired", user: "u0" });
    both.when(consume(1, { product: "cam" })).expires();
    both.when(register("ada", { product: "cam" })).expires();
  });

  test("is written once", () => {
    history
      .at(minutesLater(9))
      .execute(register("ada"))
      .at(minutesLater(9))
      .when(register("bob"))
      .expires();
  });

  test("stays where a command writes nothing", () => {
    const counts = given(licenseInstalled(1, { consumption: consumptionTerms() }), ...crowd(1));
    counts.at(minutesLater(9)).when(consume(0)).records();
    counts.at(minutesLater(9)).when(unregisterAll()).records();
  });

  test("of features comes with it, each under its own", () => {
    given(licenseInstalled(1, { slots: 9, features: [mesh] }))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "mesh"))
      .at(hoursLater(1))
      .when(register("bob"))
      .expires(
        { type: "SlotExpired", at: minutesLater(30), user: "ada", slot: 1 },
        { type: "FeatureExpired", at: minutesLater(5), feature: "mesh", user: "ada", slot: 2 },
      );
  });

  test("of the caller is in the command's own line, so that a cut never separates them", () => {
    history
      .at(minutesLater(2))
      .when(register("u0"))
      .expires({ type: "SlotExpired", user: "u1" })
      .records(
        { type: "SlotExpired", at: minutesLater(1), user: "u0", slot: 1 },
        { type: "SlotTaken", user: "u0", slot: 4 },
      );
  });

  test("does not take a slot from who is heard of in time", () => {
    history
      .at(minutesLater(2))
      .when(register("u2"))
      .expires({ type: "SlotExpired", user: "u0" }, { type: "SlotExpired", user: "u1" })
      .records({ type: "SlotRenewed", user: "u2" });
  });
});

describe("when more ran out than one command writes off", () => {
  const many = limits.expiriesPerCommand + 36;
  const history = given(licenseInstalled(1, { slots: many, features: [mesh] }), ...crowd(many));
  const monday = hoursLater(9);

  test("the 64 longest gone are written, and all are counted as gone", () => {
    expect(limits.expiriesPerCommand).toBe(64);
    const gone = Array.from({ length: 64 }, (_, i) => ({
      type: "SlotExpired" as const,
      at: minutesLater(i + 1),
      user: `u${i}`,
    }));
    history
      .at(monday)
      .when(register("ada"))
      .expires(...gone)
      .answers({ slotsInUse: 1 });
  });

  test("every slot can be had again at once", () => {
    const state = replayEvents(history.events);
    for (let i = 0; i < many; i += 1) {
      const result = transact(state, register(`new${i}`), monday);
      expect(result).toMatchObject({ ok: true, value: { outcome: { slotsInUse: i + 1 } } });
    }
    expect(transact(state, register("late"), monday).ok).toBe(false);
  });

  test("the next command writes the rest, and no more", () => {
    const after = history.at(monday).execute(register("ada")).at(monday);
    const rest = Array.from({ length: 36 }, (_, i) => ({
      type: "SlotExpired" as const,
      user: `u${i + 64}`,
    }));
    after.when(register("ada")).expires(...rest);
  });

  test("one whose expiry is still to be written starts anew all the same", () => {
    history
      .at(monday)
      .when(borrow(`u${many - 1}`, hoursLater(10)))
      .records(
        { type: "SlotExpired", at: minutesLater(many), slot: many },
        { type: "SlotTaken", slot: many + 1 },
        { type: "SlotBorrowed", slot: many + 1 },
      );
    history.at(monday).when(unregister("u99")).refuses({ code: "user_not_registered" });
  });

  test("the bound is for slots and features together", () => {
    const users = Array.from({ length: 10 }, (_, i) => `ada${i}`);
    given(licenseInstalled(1, { slots: 99, features: [mesh] }), ...crowd(50))
      .at(MONDAY)
      .execute(...users.map((user) => register(user)))
      .at(MONDAY)
      .execute(...users.map((user) => registerFeature(user, "mesh")))
      .at(monday)
      .when(register("joe"))
      .expires(
        ...Array.from({ length: 60 }, () => ({ type: "SlotExpired" }) as const),
        ...Array.from({ length: 4 }, () => ({ type: "FeatureExpired" }) as const),
      );
  });

  test("the bound is for all licenses of a command together", () => {
    given(
      licenseInstalled(1, { slots: 99 }),
      ...crowd(40),
      slotTaken("ada", { slot: 200, end: hoursLater(10) }),
      licenseInstalled(2, { product: "cam", slots: 99 }),
      ...crowd(40).map((event) => ({ ...event, license: 2, slot: event.slot + 100 })),
      slotTaken("bob", { license: 2, slot: 201, end: hoursLater(10) }),
    )
      .at(monday)
      .when(unregisterAll())
      .expires(
        ...Array.from({ length: 40 }, () => ({ type: "SlotExpired", license: 1 }) as const),
        ...Array.from({ length: 24 }, () => ({ type: "SlotExpired", license: 2 }) as const),
      )
      .records({ type: "SlotReleased", user: "ada" }, { type: "SlotReleased", user: "bob" });
  });
});

describe("a state", () => {
  test("is served as right before its expiries are written as after", () => {
    const state = replayEvents([licenseInstalled(1, { slots: 99 }), ...crowd(80)]);
    const license = state.licenses.get(1);
    if (license === undefined) throw new Error("no license");
    expect(viewLicense(state, license, minutesLater(30)).slotsInUse).toBe(50);
    expect(viewLicense(state, license, justBefore(minutesLater(31))).slotsInUse).toBe(50);
    expect(viewLicense(state, license, minutesLater(80)).slotsInUse).toBe(0);
  });

  test("is left as it was by a refusal, expiries unwritten", () => {
    const state = replayEvents([
      licenseInstalled(1, { slots: 1 }),
      ...crowd(2),
      slotTaken("eve", { slot: 3 }),
    ]);
    const was = dumpState(state);
    const result = transact(state, register("joe"), minutesLater(5));
    expect(result).toMatchObject({ ok: false, fault: { code: "floating_not_available" } });
    expect(dumpState(state)).toEqual(was);
  });

  test("throws rather than record what the guard forbids, were a rule ever to let it through", () => {
    const state = replayEvents([
      licenseInstalled(1, { consumption: consumptionTerms({ max: null }) }),
    ]);
    expect(() => transact(state, consume(0.5), MONDAY)).toThrow("left the range");
  });

  test("is begun with what kind of site it is", () => {
    given()
      .at(MONDAY)
      .when({ type: "Create", kind: "demo", appliance: "A" })
      .records({ type: "Created", at: MONDAY, kind: "demo", appliance: "A" })
      .answers(null);
  });
});
