import { describe, expect, test } from "bun:test";
import type { DistrustVendor, SigningKey, TrustVendor } from "../../../src/domain/trust/trust.ts";
import type { LicenseUpload } from "../../../src/domain/requests/license-upload.ts";
import type { SignedTrust } from "../../../src/domain/model/state.ts";
import { instant, later } from "../../../src/domain/time.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { answerTo, makeRequestCommand, SIGNER, VENDOR } from "../../support/new-site.ts";
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

const OTHER: SignedTrust = {
  vendor: "VENDOR0000000002",
  name: "Other",
  version: 1,
  jwk: { kty: "OKP", crv: "Ed25519", x: "other" },
  products: ["other"],
  retired: [],
  document: "other 1",
  sum: "f6".repeat(32),
};

const { notice: _notice, ...OWN } = VENDOR;

/** The next document of a vendor, unless the changes say another version. */
const next = (before: SignedTrust, changes: Partial<SignedTrust>): SignedTrust => {
  const version = before.version + 1;
  const document = `${before.vendor} ${version}`;
  return { ...before, version, document, sum: sha256(document), ...changes };
};

const trust = (document: SignedTrust): TrustVendor => ({
  type: "TrustVendor",
  trust: document,
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
    const vendor = { ...OTHER, notice: null };
    given()
      .at(MONDAY)
      .when(trust(OTHER))
      .records({ type: "VendorTrusted", at: MONDAY, vendor, peer: "10.0.0.1" })
      .answers({ vendor: OTHER.vendor });
    expect(findTrusted(OTHER.vendor, given().at(MONDAY).execute(trust(OTHER)))).toEqual(vendor);
  });

  test("with the same document changes nothing; an older one, or another of its version, is refused", () => {
    const third = next(OTHER, { version: 3 });
    const history = given().at(MONDAY).execute(trust(third));
    history.at(hoursLater(1)).when(trust(third)).records().answers({ vendor: OTHER.vendor });
    for (const other of [
      OTHER,
      next(OTHER, { version: 3, document: "again", sum: sha256("again") }),
    ]) {
      history.at(hoursLater(1)).when(trust(other)).refuses({ code: "trust_older", version: 3 });
    }
    const newer = next(third, { version: 9, products: ["other", "more"] });
    history.at(hoursLater(1)).when(trust(newer)).records({ type: "VendorTrusted" });
  });

  test("is refused with another root under a known id, also after the vendor was removed", () => {
    const jwk = { ...OTHER.jwk, x: "thief" };
    const history = given().at(MONDAY).execute(trust(OTHER));
    const refused = { code: "root_changed", vendor: OTHER.vendor } as const;
    history
      .at(MONDAY)
      .when(trust(next(OTHER, { jwk })))
      .refuses(refused);
    const removed = history.at(MONDAY).execute(distrust(OTHER.vendor));
    removed
      .at(MONDAY)
      .when(trust(next(OTHER, { jwk })))
      .refuses(refused);
  });

  test("is refused if its root signed an installed license, which no start would accept then", () => {
    const root = { ...OTHER, vendor: SIGNER.key };
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(trust(root))
      .refuses({ code: "untrusted_vendor", conflict: { over: "key", license: 1 } });
    given().at(MONDAY).when(trust(root)).records({ type: "VendorTrusted" });
    // The certificate of the license was verified before this vendor was trusted.
    const history = given().at(MONDAY).execute(trust(root));
    history.at(MONDAY).when(install(1)).refuses({ code: "untrusted_vendor" });
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
  });

  test("takes the retirements of a newer document of a known root, but no product of another vendor", () => {
    const both = given().at(MONDAY).execute(trust(OTHER));
    const newer = next(OTHER, { products: ["other", "cam"], retired: ["K1"] });
    const updated = both.at(hoursLater(1)).execute(trust(newer));
    expect(findTrusted(OTHER.vendor, updated)).toMatchObject({
      products: ["other"],
      notice: {
        at: hoursLater(1),
        changes: ["it retired the key K1", "cam belongs to another vendor here"],
      },
    });
  });

  test("notes what a newer document changed that nobody may have looked at", () => {
    const changed = next(OWN, { name: "Vendor Ltd", products: ["cad"], retired: ["K1"] });
    const history = given().at(MONDAY).execute(trust(changed));
    const { notice } = findTrusted(VENDOR.vendor, history) ?? {};
    expect(notice?.changes).toContain("it retired the key K1");
    expect(notice?.changes).toContain("it no longer licenses cam");
    expect(notice?.changes).toContain("its name was Vendor");
  });

  test("keeps what a document changed for a week, whatever further documents change", () => {
    const renamed = next(OWN, { name: "Vendor Ltd" });
    const dropping = next(renamed, { products: ["cad"] });
    const noticeAfter = (hours: number, ...documents: readonly SignedTrust[]) => {
      let history = given().at(MONDAY).execute(trust(renamed));
      for (const document of documents)
        history = history.at(hoursLater(hours)).execute(trust(document));
      return findTrusted(VENDOR.vendor, history)?.notice;
    };
    const name = "its name was Vendor";
    expect(noticeAfter(0)).toEqual({ at: MONDAY, changes: [name] });
    const unchanged = next(renamed, {});
    expect(noticeAfter(167, unchanged)).toEqual({ at: MONDAY, changes: [name] });
    expect(noticeAfter(168, unchanged)).toEqual({ at: hoursLater(168), changes: [] });
    const both = noticeAfter(167, dropping, next(dropping, {}));
    expect(both?.at).toBe(hoursLater(167));
    expect(both?.changes.slice(0, 2)).toEqual([name, "it no longer licenses cam"]);
    expect(noticeAfter(168, dropping)?.changes).not.toContain(name);
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
      .execute(trust(next(OWN, { products: ["cam"] })));
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

describe("retired keys", () => {
  const retirement = next(OWN, { retired: [SIGNER.key] });
  const refused = { code: "retired_key", vendor: VENDOR.name, key: SIGNER.key } as const;
  const second: SigningKey = { ...SIGNER, key: "KEY0000000000002", trust: 2 };

  const signedBy = (upload: LicenseUpload, signer: SigningKey): LicenseUpload => ({
    ...upload,
    grant: { ...upload.grant, key: signer.key, document: `${upload.grant.document} ${signer.key}` },
    signer,
  });

  test("sign nothing that is accepted any more, and what is installed stays", () => {
    const history = given().at(MONDAY).execute(install(1)).at(MONDAY).execute(trust(retirement));
    history.at(hoursLater(1)).when(renew(1, 7)).refuses(refused);
    history.at(hoursLater(1)).when(install(2)).refuses(refused);
    history.at(hoursLater(1)).when(install(1)).records().answers({ license: 1, changes: null });
    history
      .at(hoursLater(1))
      .when(signedBy(renew(1, 7), second))
      .records({
        type: "LicenseInstalled",
      });
  });

  test("stay retired after a newer document without them, and after the vendor was removed", () => {
    const forgotten = next(retirement, { retired: [] });
    const history = given()
      .at(MONDAY)
      .execute(trust(retirement))
      .at(MONDAY)
      .execute(trust(forgotten));
    history.at(MONDAY).when(install(1)).refuses(refused);
    const again = history
      .at(MONDAY)
      .execute(distrust(VENDOR.vendor))
      .at(MONDAY)
      .execute(trust(forgotten));
    again.at(MONDAY).when(install(1)).refuses(refused);
    const removed = history.at(MONDAY).execute(distrust(VENDOR.vendor));
    removed.at(MONDAY).when(trust(retirement)).refuses({ code: "trust_older", version: 3 });
    const another = { ...forgotten, document: "another 3", sum: sha256("another 3") };
    removed.at(MONDAY).when(trust(another)).refuses({ code: "trust_older", version: 3 });
  });

  test("of one vendor say nothing of another vendor's keys", () => {
    const others = { ...OTHER, retired: [SIGNER.key] };
    given().at(MONDAY).execute(trust(others)).at(MONDAY).when(install(1)).records({
      type: "LicenseInstalled",
    });
  });

  test("cannot block a license with a high serial: an answer of another key installs", () => {
    const burnt = given()
      .at(MONDAY)
      .execute(install(1))
      .at(MONDAY)
      .execute(renew(1, 1_000_000_000));
    const answer = { ...signedBy(renew(1, 3), second), answers: install(2).answers };
    burnt
      .at(MONDAY)
      .when({ ...answer, signer: { ...second, trust: 1 } })
      .refuses({ code: "stale_license", serial: 1_000_000_000 });
    const retired = burnt.at(MONDAY).execute(trust(retirement));
    // A replayed older license of the retired key, and a renewal that answers nothing.
    retired.at(hoursLater(1)).when(renew(1, 5)).refuses(refused);
    retired
      .at(hoursLater(1))
      .when(signedBy(renew(1, 3), second))
      .refuses({ code: "stale_license", serial: 1_000_000_000 });
    retired.at(hoursLater(1)).when(answer).records({ type: "LicenseInstalled" });
    const answered = retired.at(hoursLater(1)).execute(answer);
    answered
      .at(hoursLater(1))
      .when(signedBy(renew(1, 2), second))
      .refuses({
        code: "stale_license",
        serial: 3,
      });
    answered
      .at(hoursLater(1))
      .when(signedBy(renew(1, 4), second))
      .records({
        type: "LicenseInstalled",
      });
  });

  test("cannot block a returned license either", () => {
    const returned = given()
      .at(MONDAY)
      .execute(install(1))
      .at(MONDAY)
      .execute(renew(1, 1_000_000_000))
      .at(MONDAY)
      .execute(remove(1))
      .at(MONDAY)
      .execute(makeRequestCommand("after the theft"))
      .at(MONDAY)
      .execute(trust(retirement));
    const answers = answerTo("after the theft");
    returned
      .at(hoursLater(1))
      .when({ ...signedBy(renew(1, 3), second), answers })
      .records({
        type: "LicenseInstalled",
      });
  });
});

describe("an issuing key", () => {
  test("whose certificate is newer than the trust document is refused until that is installed", () => {
    const upload = install(1);
    const newer = { ...upload, signer: { ...SIGNER, trust: 2 } };
    given()
      .at(MONDAY)
      .when(newer)
      .refuses({ code: "trust_outdated", vendor: VENDOR.name, version: 2 });
    given()
      .at(MONDAY)
      .execute(trust(next(OWN, {})))
      .at(MONDAY)
      .when(newer)
      .records({
        type: "LicenseInstalled",
      });
  });

  test("is accepted until 1 ms before its end", () => {
    const until = Math.floor(hoursLater(5) / 1_000);
    const upload = { ...install(1), signer: { ...SIGNER, until } };
    const end = instant(until * 1_000);
    given().at(later(end, -1)).when(upload).records({ type: "LicenseInstalled" });
    given().at(end).when(upload).refuses({ code: "key_ended", vendor: VENDOR.name, end, at: end });
  });

  test("that signed the time is compared with that time, not with the clock of the site", () => {
    const until = Math.floor(hoursLater(5) / 1_000);
    const back = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;
    const by = { ...SIGNER, until };
    const history = given()
      .at(hoursLater(50_000))
      .execute(trust(next(OWN, {})));
    history
      .at(hoursLater(50_000))
      .when({ ...back, signed: { by, at: hoursLater(1) } })
      .records({ type: "ClockSetBack" });
    history
      .at(hoursLater(50_000))
      .when({ ...back, signed: { by, at: hoursLater(6) } })
      .refuses({
        code: "key_ended",
        vendor: VENDOR.name,
        end: instant(until * 1_000),
        at: hoursLater(6),
      });
    const retired = history
      .at(hoursLater(50_000))
      .execute(trust(next(OWN, { version: 3, document: "3", retired: [SIGNER.key] })));
    retired
      .at(hoursLater(50_000))
      .when({ ...back, signed: { by, at: hoursLater(1) } })
      .refuses({ code: "retired_key", vendor: VENDOR.name, key: SIGNER.key });
  });
});
