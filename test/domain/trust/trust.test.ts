import { describe, expect, test } from "bun:test";
import type { DistrustVendor, TrustVendor } from "../../../src/domain/trust/trust.ts";
import type { TrustedVendor } from "../../../src/domain/model/state.ts";
import { VENDOR } from "../../support/new-site.ts";
import {
  given,
  hoursLater,
  install,
  licenseInstalled,
  MONDAY,
  remove,
  renew,
  replayEvents,
} from "../../support/scenario.ts";

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

const findTrusted = (vendor: string, history: ReturnType<typeof given>) =>
  replayEvents(history.events).vendors.get(vendor);

describe("trusting a vendor", () => {
  test("records the trust document and the address it came from", () => {
    given()
      .at(MONDAY)
      .when(trust(OTHER))
      .records({ type: "VendorTrusted", at: MONDAY, vendor: OTHER, peer: "10.0.0.1" })
      .answers({ vendor: OTHER.vendor });
    expect(findTrusted(OTHER.vendor, given().at(MONDAY).execute(trust(OTHER)))).toEqual(OTHER);
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
    expect(findTrusted(OTHER.vendor, history.at(hoursLater(1)).execute(trust(newer)))).toEqual(
      newer,
    );
  });

  test("is refused when a key belongs to another trusted vendor", () => {
    const keys = [OTHER_KEY, ...VENDOR.keys];
    given()
      .at(MONDAY)
      .when(trust({ ...OTHER, keys }))
      .refuses({ code: "untrusted_vendor", conflict: { over: "key", vendor: VENDOR.vendor } });
  });

  test("is refused when another trusted vendor has one of the products", () => {
    for (const products of [["cad"], ["other", "cad"], ["__proto__"]]) {
      given()
        .at(MONDAY)
        .when(trust({ ...OTHER, products }))
        .refuses({
          code: "untrusted_vendor",
          conflict: { over: "product", vendor: VENDOR.vendor },
        });
    }
    const bothTrusted = given().at(MONDAY).execute(trust(OTHER));
    bothTrusted
      .at(MONDAY)
      .when(trust({ ...OTHER, version: 2, products: ["other", "cam"] }))
      .refuses({ code: "untrusted_vendor", conflict: { over: "product", vendor: VENDOR.vendor } });
    bothTrusted
      .at(MONDAY)
      .when(trust({ ...VENDOR, version: 2, products: ["cad", "other"] }))
      .refuses({ code: "untrusted_vendor", conflict: { over: "product", vendor: OTHER.vendor } });
  });

  test("accepts a product with a name that every object has as a property", () => {
    for (const product of ["isPrototypeOf", "propertyIsEnumerable"]) {
      given()
        .at(MONDAY)
        .when(trust({ ...OTHER, products: [product] }))
        .records({ type: "VendorTrusted" });
    }
  });

  test("with a newer document without a product stops new licenses for that product", () => {
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

describe("distrusting a vendor", () => {
  test("is recorded, and stops the licenses that it could issue", () => {
    given()
      .at(MONDAY)
      .when(distrust(VENDOR.vendor))
      .records({ type: "VendorDistrusted", at: MONDAY, vendor: VENDOR.vendor })
      .answers({ vendor: VENDOR.vendor });
    const history = given().at(MONDAY).execute(distrust(VENDOR.vendor));
    expect(findTrusted(VENDOR.vendor, history)).toBeUndefined();
    history.at(MONDAY).when(install(1)).refuses({ code: "untrusted_vendor" });
    history
      .at(MONDAY)
      .when(trust({ ...OTHER, products: ["cad"] }))
      .records({ type: "VendorTrusted" });
  });

  test("is refused until its last license is returned", () => {
    const twoLicenses = given(licenseInstalled(1), licenseInstalled(2));
    twoLicenses
      .at(MONDAY)
      .when(distrust(VENDOR.vendor))
      .refuses({ code: "vendor_in_use", licenses: 2 });
    const oneLicense = twoLicenses.at(MONDAY).execute(remove(1));
    oneLicense
      .at(MONDAY)
      .when(distrust(VENDOR.vendor))
      .refuses({ code: "vendor_in_use", licenses: 1 });
    const noLicense = oneLicense.at(MONDAY).execute(remove(2));
    noLicense.at(MONDAY).when(distrust(VENDOR.vendor)).records({ type: "VendorDistrusted" });
  });

  test("is not blocked by another vendor's licenses", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .execute(trust(OTHER))
      .at(MONDAY)
      .when(distrust(OTHER.vendor))
      .records({ type: "VendorDistrusted" });
  });

  test("is refused for a vendor that is not trusted, also for names that every object has", () => {
    for (const vendor of [OTHER.vendor, "constructor", "__proto__", ""]) {
      given().at(MONDAY).when(distrust(vendor)).refuses({ code: "unknown_vendor" });
    }
  });
});

describe("a signature checked with an outdated trust document", () => {
  const makeUpdated = () =>
    given()
      .at(MONDAY)
      .execute(trust({ ...OTHER, version: 2 }));
  const refused = { code: "untrusted_vendor", conflict: { over: "version" } } as const;

  test("cannot add a trust document", () => {
    const next = trust({ ...OTHER, version: 3 });
    for (const checkedVersion of [null, 1]) {
      makeUpdated()
        .at(hoursLater(1))
        .when({ ...next, checkedVersion })
        .refuses(refused);
    }
    makeUpdated()
      .at(hoursLater(1))
      .when({ ...next, checkedVersion: 2 })
      .answers({ vendor: OTHER.vendor });
  });

  test("still changes nothing for a document that is already trusted", () => {
    const same = trust({ ...OTHER, version: 2 });
    makeUpdated()
      .at(hoursLater(1))
      .when({ ...same, checkedVersion: null })
      .records()
      .answers({ vendor: OTHER.vendor });
  });

  test("cannot install a license", () => {
    const history = given().at(MONDAY).execute(install(1));
    const newer = renew(1, 7, { slots: 9 });
    history
      .at(hoursLater(1))
      .when({ ...newer, checkedVersion: VENDOR.version + 1 })
      .refuses(refused);
    history
      .at(hoursLater(1))
      .when({ ...newer, checkedVersion: VENDOR.version })
      .answers({ license: 1, changes: expect.anything() });
  });

  test("cannot set the clock back", () => {
    const back = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;
    makeUpdated()
      .at(hoursLater(1))
      .when({ ...back, vendor: OTHER.vendor, checkedVersion: 1 })
      .refuses(refused);
  });
});
