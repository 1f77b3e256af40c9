import { describe, test } from "bun:test";
import { later, MINUTE } from "../../src/domain/time.ts";
import {
  justBefore,
  borrow,
  slotBorrowed,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  slotTaken,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";

describe("unregistering", () => {
  const history = given(licenseInstalled(1, { slots: 1 }), slotTaken("ada"));

  test("frees the slot at once for the next caller", () => {
    const freed = history.at(minutesLater(1)).execute(unregister("ada"));
    freed
      .at(minutesLater(1))
      .when(register("bob"))
      .records({ type: "SlotTaken", user: "bob", slot: 2 });
  });

  test("says who gave it back, from where, and that nothing was borrowed", () => {
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

  test("is for the user who holds a slot now, and nobody else", () => {
    history.at(MONDAY).when(unregister("bob")).refuses({ code: "user_not_registered" });
    history
      .at(justBefore(minutesLater(30)))
      .when(unregister("ada"))
      .records({ type: "SlotReleased" });
    history.at(minutesLater(30)).when(unregister("ada")).refuses({ code: "user_not_registered" });
  });

  test("needs a user", () => {
    const fault = { code: "missing_parameters", fields: ["user"] } as const;
    history.at(MONDAY).when(unregister(null)).refuses(fault);
  });

  test("works on a license that has ended meanwhile", () => {
    given(licenseInstalled(1, { validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(10))
      .when(unregister("ada"))
      .records({ type: "SlotReleased" });
  });

  test("frees the user's slots of every license of the product, or of the one named", () => {
    const two = given(
      licenseInstalled(1),
      licenseInstalled(2),
      slotTaken("ada"),
      slotTaken("ada", { license: 2, slot: 2 }),
    );
    two
      .at(MONDAY)
      .when(unregister("ada"))
      .records({ type: "SlotReleased", license: 2 }, { type: "SlotReleased", license: 1 });
    two
      .at(MONDAY)
      .when(unregister("ada", { licenseId: 1 }))
      .records({ type: "SlotReleased", license: 1 });
  });

  test("gives back the features held through the slot, and no one else's", () => {
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

describe("unregistering all", () => {
  const history = given(
    licenseInstalled(1, { slots: 3 }),
    licenseInstalled(2, { product: "cam" }),
    slotTaken("ada"),
    slotTaken("bob", { slot: 2, end: minutesLater(90) }),
    slotTaken("eve", { license: 2, slot: 3, end: minutesLater(90) }),
  );

  test("frees the slots of every product that are held at that instant", () => {
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

  test("of one product leaves the others alone", () => {
    history
      .at(minutesLater(30))
      .when(unregisterAll("cam"))
      .expires()
      .records({ type: "SlotReleased", user: "eve" })
      .answers({ released: 1 });
  });

  test("gives back features too, and counts slots", () => {
    const mesh = featureTerms("mesh", { floating: { slots: 2, timeoutMinutes: 10 } });
    given(licenseInstalled(1, { features: [mesh] }))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "mesh"))
      .at(minutesLater(1))
      .when(unregisterAll())
      .records({ type: "FeatureReleased", by: "admin" }, { type: "SlotReleased", by: "admin" })
      .answers({ released: 1 });
  });

  test("with nobody there writes nothing; of a product that is not installed is refused", () => {
    history.at(minutesLater(90)).when(unregisterAll()).records().answers({ released: 0 });
    history.at(MONDAY).when(unregisterAll("toString")).refuses({ code: "unknown_product" });
  });
});

describe("where early return is not allowed", () => {
  const history = given(
    licenseInstalled(1, { slots: 2, earlyReturn: false }),
    slotTaken("ada"),
    slotBorrowed("ada", hoursLater(8)),
  );
  const refused = { code: "early_return_not_allowed", until: hoursLater(8) } as const;

  test("nobody gives a borrowed slot back before its end, an admin neither", () => {
    for (const by of ["user", "admin"] as const) {
      history
        .at(justBefore(hoursLater(8)))
        .when(unregister("ada", { by }))
        .refuses(refused);
    }
  });

  test("freeing all leaves it, and frees the others", () => {
    history
      .at(minutesLater(10))
      .execute(register("bob"))
      .at(minutesLater(11))
      .when(unregisterAll())
      .records({ type: "SlotReleased", user: "bob" })
      .answers({ released: 1 });
  });

  test("the end moves later but not earlier", () => {
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

  test("a slot that was never borrowed, or whose borrow is over, is given back as ever", () => {
    const free = given(licenseInstalled(1, { earlyReturn: false }), slotTaken("ada"));
    free.at(MONDAY).when(unregister("ada")).records({ type: "SlotReleased" });
    const over = history.at(later(hoursLater(8), -MINUTE)).execute(register("ada"));
    over.at(hoursLater(8)).when(unregister("ada")).records({ type: "SlotReleased", early: false });
    over
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", early: false });
  });
});
