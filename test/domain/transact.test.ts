import { describe, expect, test } from "bun:test";
import type { SlotTaken } from "../../src/domain/model/event.ts";
import { limits } from "../../src/domain/model/limits.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewLicense } from "../../src/domain/views/views.ts";
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
import { contextAt } from "../support/rule-context.ts";

/** Users whose slots end one after another, one every minute from minute 1 on. */
const makeHolders = (count: number): SlotTaken[] =>
  Array.from({ length: count }, (_, i) =>
    slotTaken(`u${i}`, { slot: i + 1, end: minutesLater(i + 1) }),
  );

const floating = { slots: 99, timeoutMinutes: 5 };
const mesh = featureTerms("mesh", { floating });

describe("recording of expired slots", () => {
  const history = given(licenseInstalled(1, { slots: 3 }), ...makeHolders(3));

  test("comes before the command, one line each, dated at the end of the slot", () => {
    history
      .at(minutesLater(2))
      .when(register("ada"))
      .expires(
        { type: "SlotExpired", at: minutesLater(1), license: 1, user: "u0", slot: 1 },
        { type: "SlotExpired", at: minutesLater(2), license: 1, user: "u1", slot: 2 },
      )
      .records({ type: "SlotTaken", at: minutesLater(2), slot: 4 });
  });

  test("does not happen one millisecond before the end", () => {
    history
      .at(justBefore(minutesLater(1)))
      .when(install(1, { slots: 9 }))
      .expires();
    history
      .at(minutesLater(1))
      .when(install(1, { slots: 9 }))
      .expires({ type: "SlotExpired", user: "u0" });
  });

  test("comes with any event of its license, and with no event of another license", () => {
    const cam = licenseInstalled(2, { product: "cam", consumption: consumptionTerms() });
    const twoProducts = given(
      licenseInstalled(1, { consumption: consumptionTerms() }),
      ...makeHolders(1),
      cam,
    ).at(minutesLater(9));
    twoProducts.when(consume(1)).expires({ type: "SlotExpired", user: "u0" });
    twoProducts.when(consume(1, { product: "cam" })).expires();
    twoProducts.when(register("ada", { product: "cam" })).expires();
  });

  test("happens once for each slot", () => {
    history
      .at(minutesLater(9))
      .execute(register("ada"))
      .at(minutesLater(9))
      .when(register("bob"))
      .expires();
  });

  test("does not happen with a command that writes nothing", () => {
    const counts = given(
      licenseInstalled(1, { consumption: consumptionTerms() }),
      ...makeHolders(1),
    );
    counts.at(minutesLater(9)).when(consume(0)).records();
    counts.at(minutesLater(9)).when(unregisterAll()).records();
  });

  test("includes feature slots, each with its own end", () => {
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

  test("is in the command's own line for the caller's slot, so that a crash cannot separate them", () => {
    history
      .at(minutesLater(2))
      .when(register("u0"))
      .expires({ type: "SlotExpired", user: "u1" })
      .records(
        { type: "SlotExpired", at: minutesLater(1), user: "u0", slot: 1 },
        { type: "SlotTaken", user: "u0", slot: 4 },
      );
  });

  test("does not affect a user whose heartbeat comes in time", () => {
    history
      .at(minutesLater(2))
      .when(register("u2"))
      .expires({ type: "SlotExpired", user: "u0" }, { type: "SlotExpired", user: "u1" })
      .records({ type: "SlotRenewed", user: "u2" });
  });
});

describe("more expired slots than one command records", () => {
  const holderCount = limits.expiriesPerCommand + 36;
  const history = given(
    licenseInstalled(1, { slots: holderCount, features: [mesh] }),
    ...makeHolders(holderCount),
  );
  const nineHoursLater = hoursLater(9);

  test("the 64 oldest are recorded, and all are counted as ended", () => {
    expect(limits.expiriesPerCommand).toBe(64);
    const expired = Array.from({ length: 64 }, (_, i) => ({
      type: "SlotExpired" as const,
      at: minutesLater(i + 1),
      user: `u${i}`,
    }));
    history
      .at(nineHoursLater)
      .when(register("ada"))
      .expires(...expired)
      .answers({ slotsInUse: 1 });
  });

  test("every slot can be taken again immediately", () => {
    const state = replayEvents(history.events);
    for (let i = 0; i < holderCount; i += 1) {
      const result = transact(state, register(`new${i}`), contextAt(nineHoursLater));
      expect(result).toMatchObject({ ok: true, value: { outcome: { slotsInUse: i + 1 } } });
    }
    expect(transact(state, register("late"), contextAt(nineHoursLater)).ok).toBe(false);
  });

  test("the next command records the remaining ones", () => {
    const after = history.at(nineHoursLater).execute(register("ada")).at(nineHoursLater);
    const remaining = Array.from({ length: 36 }, (_, i) => ({
      type: "SlotExpired" as const,
      user: `u${i + 64}`,
    }));
    after.when(register("ada")).expires(...remaining);
  });

  test("a user whose expiry is not yet recorded gets a new slot", () => {
    history
      .at(nineHoursLater)
      .when(borrow(`u${holderCount - 1}`, hoursLater(10)))
      .records(
        { type: "SlotExpired", at: minutesLater(holderCount), slot: holderCount },
        { type: "SlotTaken", slot: holderCount + 1 },
        { type: "SlotBorrowed", slot: holderCount + 1 },
      );
    history.at(nineHoursLater).when(unregister("u99")).refuses({ code: "user_not_registered" });
  });

  test("the limit of 64 counts license slots and feature slots together", () => {
    const users = Array.from({ length: 10 }, (_, i) => `ada${i}`);
    given(licenseInstalled(1, { slots: 99, features: [mesh] }), ...makeHolders(50))
      .at(MONDAY)
      .execute(...users.map((user) => register(user)))
      .at(MONDAY)
      .execute(...users.map((user) => registerFeature(user, "mesh")))
      .at(nineHoursLater)
      .when(register("joe"))
      .expires(
        ...Array.from({ length: 60 }, () => ({ type: "SlotExpired" }) as const),
        ...Array.from({ length: 4 }, () => ({ type: "FeatureExpired" }) as const),
      );
  });

  test("the limit of 64 counts all licenses of a command together", () => {
    given(
      licenseInstalled(1, { slots: 99 }),
      ...makeHolders(40),
      slotTaken("ada", { slot: 200, end: hoursLater(10) }),
      licenseInstalled(2, { product: "cam", slots: 99 }),
      ...makeHolders(40).map((event) => ({ ...event, license: 2, slot: event.slot + 100 })),
      slotTaken("bob", { license: 2, slot: 201, end: hoursLater(10) }),
    )
      .at(nineHoursLater)
      .when(unregisterAll())
      .expires(
        ...Array.from({ length: 40 }, () => ({ type: "SlotExpired", license: 1 }) as const),
        ...Array.from({ length: 24 }, () => ({ type: "SlotExpired", license: 2 }) as const),
      )
      .records({ type: "SlotReleased", user: "ada" }, { type: "SlotReleased", user: "bob" });
  });
});

describe("transact", () => {
  test("shows the right slots in use before the expiries are recorded", () => {
    const state = replayEvents([licenseInstalled(1, { slots: 99 }), ...makeHolders(80)]);
    const license = state.licenses.get(1);
    if (license === undefined) throw new Error("no license");
    expect(viewLicense(state, license, contextAt(minutesLater(30))).slotsInUse).toBe(50);
    expect(viewLicense(state, license, contextAt(justBefore(minutesLater(31)))).slotsInUse).toBe(
      50,
    );
    expect(viewLicense(state, license, contextAt(minutesLater(80))).slotsInUse).toBe(0);
  });

  test("leaves the state unchanged after a refusal, with expiries not recorded", () => {
    const state = replayEvents([
      licenseInstalled(1, { slots: 1 }),
      ...makeHolders(2),
      slotTaken("eve", { slot: 3 }),
    ]);
    const before = dumpState(state);
    const result = transact(state, register("joe"), contextAt(minutesLater(5)));
    expect(result).toMatchObject({ ok: false, fault: { code: "floating_not_available" } });
    expect(dumpState(state)).toEqual(before);
  });

  test("throws instead of recording an event that breaks an invariant", () => {
    const state = replayEvents([
      licenseInstalled(1, { consumption: consumptionTerms({ max: null }) }),
    ]);
    expect(() => transact(state, consume(0.5), contextAt(MONDAY))).toThrow("out of range");
  });

  test("records the kind of the site when it is created", () => {
    given()
      .at(MONDAY)
      .when({ type: "Create", kind: "demo", appliance: "A" })
      .records({ type: "Created", at: MONDAY, kind: "demo", appliance: "A" })
      .answers(null);
  });
});
