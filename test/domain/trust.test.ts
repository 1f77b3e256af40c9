import { describe, expect, test } from "bun:test";
import type { DistrustVendor, TrustVendor } from "../../src/domain/command.ts";
import type { TrustedVendor } from "../../src/domain/state.ts";
import { VENDOR } from "../support/new-site.ts";
import {
  given,
  hoursLater,
  install,
  licenseInstalled,
  MONDAY,
  remove,
  renew,
  replayEvents,
} from "../support/scenario.ts";

const OTHER_KEY = { kty: "OKP", crv: "Ed25519", x: "other" } as const;
const OTHER: TrustedVendor = {
  ...VENDOR,
  vendor: "VENDOR0000000002",
  name: "Other",
  products: ["other"],
  keys: [OTHER_KEY],
};

const trust = (vendor: TrustedVendor): TrustVendor => ({
  type: "TrustVendor",
  vendor,
  peer: "10.0.0.1",
});

const distrust = (vendor: string): DistrustVendor => ({
  type: "DistrustVendor",
  vendor,
  peer: "10.0.0.1",
});

const trusted = (vendor: string, history: ReturnType<typeof given>) =>
  replayEvents(history.events).vendors.get(vendor);

describe("trusting a vendor", () => {
  test("is on record, with the document and where it came from", () => {
    given()
      .at(MONDAY)
      .when(trust(OTHER))
      .records({ type: "VendorTrusted", at: MONDAY, vendor: OTHER, peer: "10.0.0.1" })
      .answers({ vendor: OTHER.vendor });
    expect(trusted(OTHER.vendor, given().at(MONDAY).execute(trust(OTHER)))).toEqual(OTHER);
  });

  test("with the same document, or an older one, changes nothing", () => {
    const history = given()
      .at(MONDAY)
      .execute(trust({ ...OTHER, version: 3 }));
    for (const version of [1, 2, 3]) {
      history
        .at(hoursLater(1))
        .when(trust({ ...OTHER, version }))
        .records()
        .answers({ vendor: OTHER.vendor });
    }
    const newer = { ...OTHER, version: 4, products: ["other", "more"] };
    history.at(hoursLater(1)).when(trust(newer)).records({ type: "VendorTrusted", vendor: newer });
    expect(trusted(OTHER.vendor, history.at(hoursLater(1)).execute(trust(newer)))).toEqual(newer);
  });

  test("is refused where a key of theirs is another's", () => {
    const keys = [OTHER_KEY, ...VENDOR.keys];
    given()
      .at(MONDAY)
      .when(trust({ ...OTHER, keys }))
      .refuses({ code: "untrusted_vendor" });
  });

  test("is refused where a product of theirs is claimed by another", () => {
    for (const products of [["cad"], ["other", "cad"], ["__proto__"]]) {
      given()
        .at(MONDAY)
        .when(trust({ ...OTHER, products }))
        .refuses({ code: "untrusted_vendor" });
    }
    const both = given().at(MONDAY).execute(trust(OTHER));
    both
      .at(MONDAY)
      .when(trust({ ...OTHER, version: 2, products: ["other", "cam"] }))
      .refuses({ code: "untrusted_vendor" });
    both
      .at(MONDAY)
      .when(trust({ ...VENDOR, version: 2, products: ["cad", "other"] }))
      .refuses({ code: "untrusted_vendor" });
  });

  test("does not mind a product called like something every object has", () => {
    for (const product of ["isPrototypeOf", "propertyIsEnumerable"]) {
      given()
        .at(MONDAY)
        .when(trust({ ...OTHER, products: [product] }))
        .records({ type: "VendorTrusted" });
    }
  });

  test("a newer document that no longer names a product ends new licenses for it", () => {
    const history = given(licenseInstalled(1))
      .at(MONDAY)
      .execute(trust({ ...VENDOR, version: 2, products: ["cam"] }));
    history.at(MONDAY).when(renew(1, 2)).refuses({ code: "untrusted_vendor" });
    history
      .at(MONDAY)
      .when(install(2, { product: "cam" }))
      .records({ type: "LicenseInstalled" });
    history
      .at(MONDAY)
      .when(trust({ ...OTHER, products: ["cad"] }))
      .records({ type: "VendorTrusted" });
  });
});

describe("no longer trusting a vendor", () => {
  test("is on record, and ends what they could license", () => {
    given()
      .at(MONDAY)
      .when(distrust(VENDOR.vendor))
      .records({ type: "VendorDistrusted", at: MONDAY, vendor: VENDOR.vendor })
      .answers({ vendor: VENDOR.vendor });
    const history = given().at(MONDAY).execute(distrust(VENDOR.vendor));
    expect(trusted(VENDOR.vendor, history)).toBeUndefined();
    history.at(MONDAY).when(install(1)).refuses({ code: "untrusted_vendor" });
    history
      .at(MONDAY)
      .when(trust({ ...OTHER, products: ["cad"] }))
      .records({ type: "VendorTrusted" });
  });

  test("waits until the last of their licenses was given back", () => {
    const two = given(licenseInstalled(1), licenseInstalled(2));
    two.at(MONDAY).when(distrust(VENDOR.vendor)).refuses({ code: "vendor_in_use", licenses: 2 });
    const one = two.at(MONDAY).execute(remove(1));
    one.at(MONDAY).when(distrust(VENDOR.vendor)).refuses({ code: "vendor_in_use", licenses: 1 });
    const none = one.at(MONDAY).execute(remove(2));
    none.at(MONDAY).when(distrust(VENDOR.vendor)).records({ type: "VendorDistrusted" });
  });

  test("does not wait for another vendor's licenses", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .execute(trust(OTHER))
      .at(MONDAY)
      .when(distrust(OTHER.vendor))
      .records({ type: "VendorDistrusted" });
  });

  test("is refused for one who was not, also by a name every object has", () => {
    for (const vendor of [OTHER.vendor, "constructor", "__proto__", ""]) {
      given().at(MONDAY).when(distrust(vendor)).refuses({ code: "unknown_vendor" });
    }
  });
});

describe("a signature that was checked with an earlier document of its vendor", () => {
  const changed = () =>
    given()
      .at(MONDAY)
      .execute(trust({ ...OTHER, version: 2 }));
  const refused = { code: "untrusted_vendor" } as const;

  test("brings in no trust document", () => {
    const next = trust({ ...OTHER, version: 3 });
    for (const checkedVersion of [null, 1]) {
      changed()
        .at(hoursLater(1))
        .when({ ...next, checkedVersion })
        .refuses(refused);
    }
    changed()
      .at(hoursLater(1))
      .when({ ...next, checkedVersion: 2 })
      .answers({ vendor: OTHER.vendor });
  });

  test("still finds its own document known already", () => {
    const same = trust({ ...OTHER, version: 2 });
    changed()
      .at(hoursLater(1))
      .when({ ...same, checkedVersion: null })
      .records()
      .answers({ vendor: OTHER.vendor });
  });

  test("brings in no license", () => {
    const history = given().at(MONDAY).execute(install(1));
    const newer = renew(1, 7, { slots: 9 });
    history
      .at(hoursLater(1))
      .when({ ...newer, checkedVersion: VENDOR.version + 1 })
      .refuses(refused);
    history
      .at(hoursLater(1))
      .when({ ...newer, checkedVersion: VENDOR.version })
      .answers({ license: 1, replacedTerms: expect.anything() });
  });

  test("sets no clock back", () => {
    const back = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;
    changed()
      .at(hoursLater(1))
      .when({ ...back, vendor: OTHER.vendor, checkedVersion: 1 })
      .refuses(refused);
  });
});
