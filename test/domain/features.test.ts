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
} from "../support/scenario.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 10 } });

describe("registering a feature of two licenses the user sits on", () => {
  const both = given(
    licenseInstalled(1, { features: [mesh] }),
    licenseInstalled(2, { features: [mesh] }),
  )
    .at(MONDAY)
    .execute(register("ada", { licenseId: 1 }), register("ada", { licenseId: 2 }))
    .at(MONDAY)
    .execute(register("bob", { licenseId: 1 }), register("bob", { licenseId: 2 }))
    .at(MONDAY)
    .execute(registerFeature("ada", "mesh"));

  test("takes the slot that is free, wherever it is", () => {
    both
      .at(MONDAY)
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureTaken", user: "bob", license: 1 });
  });

  test("keeps the slot that is held, wherever it is", () => {
    both
      .at(MONDAY)
      .execute(registerFeature("bob", "mesh"))
      .at(minutesLater(1))
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureRenewed", user: "bob", license: 1 });
  });
});

describe("registering a feature", () => {
  const registered = given(licenseInstalled(1, { features: [mesh, featureTerms("help")] }))
    .at(MONDAY)
    .execute(register("ada"), register("bob"));
  const used = registered.at(MONDAY).execute(registerFeature("ada", "mesh"));

  test("takes one of its own slots for its own timeout", () => {
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

  test("needs a slot of the license that is held now", () => {
    const fault = { code: "user_not_registered", slot: "license" } as const;
    registered.at(MONDAY).when(registerFeature("eve", "mesh")).refuses(fault);
    registered.at(minutesLater(30)).when(registerFeature("ada", "mesh")).refuses(fault);
    const last = justBefore(minutesLater(30));
    registered.at(last).when(registerFeature("ada", "mesh")).records({ type: "FeatureTaken" });
  });

  test("is the heartbeat for who has it, in a full pool too", () => {
    used
      .at(justBefore(minutesLater(10)))
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureRenewed", user: "ada", end: justBefore(minutesLater(20)) });
  });

  test("waits for the end of somebody else's, which comes at that very instant", () => {
    used
      .at(justBefore(minutesLater(10)))
      .when(registerFeature("bob", "mesh"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: minutesLater(10) });
    used
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

  test("after its end writes the own one off and takes another", () => {
    used
      .at(minutesLater(10))
      .when(registerFeature("ada", "mesh"))
      .expires()
      .records(
        { type: "FeatureExpired", at: minutesLater(10), user: "ada", slot: 3 },
        { type: "FeatureTaken", user: "ada", slot: 4 },
      );
  });

  test("knows only the codes of the license, and only floating ones", () => {
    for (const code of ["toString", "__proto__", "Mesh"]) {
      registered
        .at(MONDAY)
        .when(registerFeature("ada", code))
        .refuses({ code: "invalid_license_feature_code" });
    }
    const fault = { code: "feature_not_floating" } as const;
    registered.at(MONDAY).when(registerFeature("ada", "help")).refuses(fault);
  });

  test("needs user and feature, and names both", () => {
    given(...registered.events, licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(registerFeature(null, null, { product: null }))
      .refuses({ code: "missing_parameters", fields: ["user", "feature", "product"] });
  });

  test("ends with the license", () => {
    given(licenseInstalled(1, { features: [mesh], validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(5))
      .when(registerFeature("ada", "mesh"))
      .refuses({ code: "license_expired", what: "license", end: minutesLater(5) });
  });

  test("ends at the feature's own date, where it has one", () => {
    const ending = given(
      licenseInstalled(1, { features: [{ ...mesh, expires: minutesLater(5) }] }),
      slotTaken("ada"),
    );
    const last = justBefore(minutesLater(5));
    ending.at(last).when(registerFeature("ada", "mesh")).records({ type: "FeatureTaken" });
    ending
      .at(minutesLater(5))
      .when(registerFeature("ada", "mesh"))
      .refuses({ code: "license_expired", what: "feature", end: minutesLater(5) });
  });

  test("goes to the license the user sits on, not to the newest", () => {
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

describe("releasing a feature", () => {
  const used = given(licenseInstalled(1, { features: [mesh] }))
    .at(MONDAY)
    .execute(register("ada"), registerFeature("ada", "mesh"));

  test("frees its slot and keeps the license's", () => {
    used
      .at(MONDAY)
      .when(releaseFeature("ada", "mesh"))
      .records({ type: "FeatureReleased", feature: "mesh", user: "ada", slot: 2, by: "user" })
      .answers({ license: 1, feature: "mesh" });
    const freed = used.at(MONDAY).execute(releaseFeature("ada", "mesh"), register("bob"));
    freed.at(MONDAY).when(registerFeature("bob", "mesh")).records({ type: "FeatureTaken" });
  });

  test("is for who has it now", () => {
    const fault = { code: "user_not_registered", slot: "feature" } as const;
    used.at(MONDAY).when(releaseFeature("bob", "mesh")).refuses(fault);
    used.at(minutesLater(10)).when(releaseFeature("ada", "mesh")).refuses(fault);
    const code = "constructor";
    used
      .at(MONDAY)
      .when(releaseFeature("ada", code))
      .refuses({ code: "invalid_license_feature_code" });
    used
      .at(MONDAY)
      .when(releaseFeature("ada", null))
      .refuses({ code: "missing_parameters", fields: ["feature"] });
  });

  test("of all frees those held at that instant", () => {
    const later = used.at(minutesLater(5)).execute(register("bob"), releaseFeature("ada", "mesh"));
    const held = later.at(minutesLater(6)).execute(registerFeature("bob", "mesh"));
    held
      .at(justBefore(minutesLater(16)))
      .when({ type: "ReleaseAllFeatures", peer: "10.0.0.9" })
      .records({ type: "FeatureReleased", user: "bob", by: "admin" })
      .answers({ released: 1 });
    held
      .at(minutesLater(16))
      .when({ type: "ReleaseAllFeatures", peer: "10.0.0.9" })
      .records()
      .answers({ released: 0 });
  });
});

describe("a feature the renewed license no longer names", () => {
  const prints = featureTerms("prints", { consumption: consumptionTerms({ max: null }) });
  const renewed = given(licenseInstalled(1, { features: [mesh, prints] }))
    .at(MONDAY)
    .execute(register("ada"), register("bob"), registerFeature("ada", "mesh"), install(1));

  test("stays with who holds it", () => {
    const kept = { type: "FeatureRenewed", user: "ada" } as const;
    renewed.at(minutesLater(1)).when(registerFeature("ada", "mesh")).records(kept);
  });

  test("is granted to nobody else and counts no more", () => {
    const freed = renewed.at(minutesLater(1)).execute(releaseFeature("ada", "mesh"));
    freed
      .at(minutesLater(1))
      .when(registerFeature("bob", "mesh"))
      .refuses({ code: "floating_not_available", slots: 0, nextFree: null });
    renewed
      .at(minutesLater(1))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "feature_not_enough_consumptions", left: 0 });
  });

  test("names no instant at which it comes free, for none does", () => {
    renewed
      .at(minutesLater(1))
      .when(registerFeature("bob", "mesh"))
      .refuses({ code: "floating_not_available", slots: 0, nextFree: null });
  });

  test("comes back with a license that names it again", () => {
    renewed
      .at(minutesLater(1))
      .execute(renew(1, 3, { features: [{ ...mesh, floating: { slots: 2, timeoutMinutes: 10 } }] }))
      .at(minutesLater(2))
      .when(registerFeature("bob", "mesh"))
      .records({ type: "FeatureTaken", user: "bob" });
  });
});
