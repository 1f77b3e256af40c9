import { describe, test } from "bun:test";
import {
  justBefore,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  given,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  releaseFeature,
  renew,
  slotTaken,
  noFreeSlot,
} from "../../support/scenario.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 10 } });

describe("registerFeature with slots of two licenses", () => {
  const registeredOnBoth = given(
    licenseInstalled(1, { features: [mesh] }),
    licenseInstalled(2, { features: [mesh] }),
  )
    .at(MONDAY)
    .execute(register("ada", { licenseId: 1 }), register("ada", { licenseId: 2 }))
    .at(MONDAY)
    .execute(register("bob", { licenseId: 1 }), register("bob", { licenseId: 2 }))
    .at(MONDAY)
    .execute(registerFeature("ada", "mesh"));

  test("takes the free feature slot, on whichever license it is", () => {
    registeredOnBoth
      .at(MONDAY)
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureTaken", user: "bob", license: 1 });
  });

  test("renews the held feature slot, on whichever license it is", () => {
    registeredOnBoth
      .at(MONDAY)
      .execute(registerFeature("bob", "mesh"))
      .at(minutesLater(1))
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureRenewed", user: "bob", license: 1 });
  });
});

describe("registerFeature", () => {
  const registered = given(licenseInstalled(1, { features: [mesh, featureTerms("help")] }))
    .at(MONDAY)
    .execute(register("ada"), register("bob"));
  const meshTaken = registered.at(MONDAY).execute(registerFeature("ada", "mesh"));

  test("takes a slot of the feature for the feature's own timeout", () => {
    registered
      .at(MONDAY)
      .when(registerFeature("ada", "mesh"))
      .records({
        type: "FeatureTaken",
        at: MONDAY,
        license: 1,
        feature: "mesh",
        user: "ada",
        slot: 3,
        end: minutesLater(10),
      })
      .answers({ license: 1, feature: "mesh" });
  });

  test("refuses a user who holds no slot of the license at that instant", () => {
    const fault = { code: "user_not_registered", slot: "license" } as const;
    registered.at(MONDAY).when(registerFeature("eve", "mesh")).refuses(fault);
    registered.at(minutesLater(30)).when(registerFeature("ada", "mesh")).refuses(fault);
    const last = justBefore(minutesLater(30));
    registered.at(last).when(registerFeature("ada", "mesh")).records({ type: "FeatureTaken" });
  });

  test("renews the slot of its holder, also when all slots are taken", () => {
    meshTaken
      .at(justBefore(minutesLater(10)))
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureRenewed", user: "ada", end: justBefore(minutesLater(20)) });
  });

  test("refuses until another user's slot ends, and grants at exactly that end", () => {
    meshTaken
      .at(justBefore(minutesLater(10)))
      .when(registerFeature("bob", "mesh"))
      .refuses(noFreeSlot(1));
    meshTaken
      .at(minutesLater(10))
      .when(registerFeature("bob", "mesh"))
      .expires({
        type: "FeatureExpired",
        at: minutesLater(10),
        feature: "mesh",
        user: "ada",
        slot: 3,
      })
      .records({ type: "FeatureTaken", user: "bob", slot: 4 });
  });

  test("records the expiry of the user's own ended slot and takes a new one", () => {
    meshTaken
      .at(minutesLater(10))
      .when(registerFeature("ada", "mesh"))
      .expires()
      .records(
        { type: "FeatureExpired", at: minutesLater(10), user: "ada", slot: 3 },
        { type: "FeatureTaken", user: "ada", slot: 4 },
      );
  });

  test("refuses codes that the license does not have, and features that do not float", () => {
    for (const code of ["toString", "__proto__", "Mesh"]) {
      registered
        .at(MONDAY)
        .when(registerFeature("ada", code))
        .refuses({ code: "invalid_license_feature_code" });
    }
    const fault = { code: "feature_not_floating" } as const;
    registered.at(MONDAY).when(registerFeature("ada", "help")).refuses(fault);
  });

  test("names every missing parameter at once", () => {
    given(...registered.events, licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(registerFeature(null, null, { product: null }))
      .refuses({ code: "missing_parameters", fields: ["user", "feature", "product"] });
  });

  test("refuses when the license has expired", () => {
    given(licenseInstalled(1, { features: [mesh], validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(5))
      .when(registerFeature("ada", "mesh"))
      .refuses({ code: "license_expired", what: "license", end: minutesLater(5) });
  });

  test("refuses from the feature's own expiry date on", () => {
    const expiring = given(
      licenseInstalled(1, { features: [{ ...mesh, expires: minutesLater(5) }] }),
      slotTaken("ada"),
    );
    const last = justBefore(minutesLater(5));
    expiring.at(last).when(registerFeature("ada", "mesh")).records({ type: "FeatureTaken" });
    expiring
      .at(minutesLater(5))
      .when(registerFeature("ada", "mesh"))
      .refuses({ code: "license_expired", what: "feature", end: minutesLater(5) });
  });

  test("uses the license the user holds a slot of, not the newest", () => {
    given(
      licenseInstalled(1, { features: [mesh] }),
      licenseInstalled(2, { features: [mesh] }),
      slotTaken("ada"),
    )
      .at(MONDAY)
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureTaken", license: 1 });
  });
});

describe("releaseFeature", () => {
  const meshTaken = given(licenseInstalled(1, { features: [mesh] }))
    .at(MONDAY)
    .execute(register("ada"), registerFeature("ada", "mesh"));

  test("releases the feature slot and keeps the license slot", () => {
    meshTaken
      .at(MONDAY)
      .when(releaseFeature("ada", "mesh"))
      .records({ type: "FeatureReleased", feature: "mesh", user: "ada", slot: 2, by: "user" })
      .answers({ license: 1, feature: "mesh" });
    const released = meshTaken.at(MONDAY).execute(releaseFeature("ada", "mesh"), register("bob"));
    released.at(MONDAY).when(registerFeature("bob", "mesh")).records({ type: "FeatureTaken" });
  });

  test("refuses a user who does not hold the feature, and unknown or missing codes", () => {
    const fault = { code: "user_not_registered", slot: "feature" } as const;
    meshTaken.at(MONDAY).when(releaseFeature("bob", "mesh")).refuses(fault);
    meshTaken.at(minutesLater(10)).when(releaseFeature("ada", "mesh")).refuses(fault);
    const code = "constructor";
    meshTaken
      .at(MONDAY)
      .when(releaseFeature("ada", code))
      .refuses({ code: "invalid_license_feature_code" });
    meshTaken
      .at(MONDAY)
      .when(releaseFeature("ada", null))
      .refuses({ code: "missing_parameters", fields: ["feature"] });
  });

  test("releases all feature slots that are held at that instant", () => {
    const meshReleased = meshTaken
      .at(minutesLater(5))
      .execute(register("bob"), releaseFeature("ada", "mesh"));
    const takenAgain = meshReleased.at(minutesLater(6)).execute(registerFeature("bob", "mesh"));
    takenAgain
      .at(justBefore(minutesLater(16)))
      .when({ type: "FeatureReleaseAll", peer: "10.0.0.9" })
      .records({ type: "FeatureReleased", user: "bob", by: "admin" })
      .answers({ released: 1 });
    takenAgain
      .at(minutesLater(16))
      .when({ type: "FeatureReleaseAll", peer: "10.0.0.9" })
      .records()
      .answers({ released: 0 });
  });
});

describe("a feature that the renewed license no longer has", () => {
  const prints = featureTerms("prints", { consumption: consumptionTerms({ max: null }) });
  const renewed = given(licenseInstalled(1, { features: [mesh, prints] }))
    .at(MONDAY)
    .execute(register("ada"), register("bob"), registerFeature("ada", "mesh"), install(1));

  test("stays with its holder", () => {
    const renewal = { type: "FeatureRenewed", user: "ada" } as const;
    renewed.at(minutesLater(1)).when(registerFeature("ada", "mesh")).records(renewal);
  });

  test("is refused to other users and counts no more consumption", () => {
    const released = renewed.at(minutesLater(1)).execute(releaseFeature("ada", "mesh"));
    released.at(minutesLater(1)).when(registerFeature("bob", "mesh")).refuses(noFreeSlot(0));
    renewed
      .at(minutesLater(1))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "feature_not_enough_consumptions", left: 0 });
  });

  test("is refused without a time at which a slot gets free", () => {
    renewed.at(minutesLater(1)).when(registerFeature("bob", "mesh")).refuses(noFreeSlot(0));
  });

  test("is granted again under a license that has it again", () => {
    renewed
      .at(minutesLater(1))
      .execute(renew(1, 3, { features: [{ ...mesh, floating: { slots: 2, timeoutMinutes: 10 } }] }))
      .at(minutesLater(2))
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureTaken", user: "bob" });
  });
});
