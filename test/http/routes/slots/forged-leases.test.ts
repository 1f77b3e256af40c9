// A forging server has the appliance's key and genuine licenses, and signs any lease it likes. The
// checks of the README accept such leases only within the terms that the vendor signed.
import { describe, expect, onTestFinished, setSystemTime, test } from "bun:test";
import { importJWK, SignJWT } from "jose";
import type { Terms } from "../../../../src/domain/model/licenses/terms.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../../../src/domain/time.ts";
import { publicPart } from "../../../../src/license/documents/keys.ts";
import { sha256 } from "../../../../src/platform/crypto/hash.ts";
import { AirgapSite, makeDesk } from "../../../support/airgap-site.ts";
import { expectOk, openAppliance, type Appliance } from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { loadLeaseCheck } from "../../../support/documents.ts";
import { terms as termsOf } from "../../../support/scenario.ts";
import { answerRequest, VENDOR_KEY, toTermsDocument } from "../../../support/vendor.ts";

const NONCE = "my-device-nonce-0001";
const NOW = instant(Date.now());
const MIDNIGHT = instant(NOW - (NOW % DAY));
const HOURS = 60 * 60;

/** The claims of a lease that refer to its license. */
interface LicenseReference {
  readonly license_id: number;
  readonly serial: number;
  readonly lic: string;
}

/** A genuine license for this appliance, installed in the ordinary way. */
interface InstalledLicense extends LicenseReference {
  readonly checkLease: (lease: string) => Promise<unknown>;
}

interface LicenseOptions {
  readonly serial?: number;
  /** Licenses with the same number are renewals of one license. */
  readonly number?: number;
  /** The end that the vendor gives outside of the terms, where the format has one. */
  readonly ends?: Instant;
}

interface LeaseSite {
  readonly site: Appliance;
  readonly product: string;
  readonly otherProduct: string;
  installLicense(overrides: Partial<Terms>, options?: LicenseOptions): Promise<InstalledLicense>;
}

async function openByFile(): Promise<LeaseSite> {
  const site = await openAppliance({ licenses: {} });
  site.clock.now = NOW;
  const [product, otherProduct] = ["cad", "cam"];
  const check = await loadLeaseCheck("checkLease");
  const checkInput = { rootKey: publicPart(VENDOR_KEY), product, nonce: NONCE };
  return {
    site,
    product,
    otherProduct,
    installLicense: async (overrides, { serial = 1, number = 1, ends } = {}) => {
      const terms = { product, ...overrides, ...(ends !== undefined && { validUntil: ends }) };
      const document = await answerRequest(await site.makeRequestDocument(), number, terms, {
        serial,
      });
      const { id } = expectOk(await site.upload(document));
      const license = expectOk(await site.get<string>(`/api/v4/license?license_id=${id}`, JWT));
      const lic = sha256(document);
      return {
        license_id: id,
        serial,
        lic,
        checkLease: (lease) => check({ ...checkInput, lease, license }),
      };
    },
  };
}

async function openByCode(): Promise<LeaseSite> {
  const site = await openAppliance({ licenses: {} });
  site.clock.now = NOW;
  const [product, otherProduct] = ["mesh", "grid"];
  const desk = await makeDesk([product, otherProduct]);
  unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "test"));
  const air = new AirgapSite(site, desk);
  const check = await loadLeaseCheck("checkLeaseByCode");
  const checkInput = { rootKey: publicPart(desk.vendor.jwk), product, nonce: NONCE };
  return {
    site,
    product,
    otherProduct,
    installLicense: async (overrides, { serial = 1, number = 1, ends } = {}) => {
      const termsDocument = toTermsDocument(termsOf({ product, ...overrides }));
      // A perpetual license has no end: the desk finds the type that fits the end.
      const { license_key: _key, license_type: _type, ...terms } = termsDocument;
      const policy = await air.replacePolicy(`P-${number}`, terms);
      const policyInput = { policy, licenseKey: `KEY-${number}`, serial };
      const body = await air.makeLicenseBody({
        ...policyInput,
        validUntil: ends ?? null,
        now: NOW,
      });
      const { id } = expectOk(await air.addLicense(body));
      const bundle = expectOk(await site.get<object>(`/api/v4/license?license_id=${id}`, JWT));
      const { grant } = unwrap(await site.licensing.findLicense({ product: null, licenseId: id }));
      const { lic } = grant;
      return {
        license_id: id,
        serial,
        lic,
        checkLease: (lease) => check({ ...checkInput, lease, bundle }),
      };
    },
  };
}

const JWT = { accept: "application/jwt" };

/** Signs a lease with the appliance's own key. It lasts an hour from now unless `claims` differ. */
async function forgeLease(
  { site, product }: LeaseSite,
  license: LicenseReference,
  claims: object = {},
  kid?: string,
) {
  const { identity } = site.services;
  const { license_id, serial, lic } = license;
  const idClaims = { iss: identity.id, sub: "eve", aud: product, jti: "1", nonce: NONCE };
  const iat = seconds(NOW);
  const slotClaims = { ...idClaims, license_id, serial, lic, iat, exp: iat + HOURS };
  return new SignJWT({ ...slotClaims, host: "", borrowed: true, ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: "berth-lease+jwt", kid: kid ?? identity.id })
    .sign(await importJWK(identity.key, "EdDSA"));
}

const seconds = (at: Instant): number => Math.floor(at / 1_000);

const TERMS: Partial<Terms> = { borrowHours: 24 };

/** Terms of a genuine license, claims of the forged lease, and the reason for the refusal. */
const REFUSED: Readonly<Record<string, [terms: Partial<Terms>, claims: object, reason: string]>> = {
  "a license that has ended": [{ validUntil: later(NOW, -HOUR) }, {}, "the license has ended"],
  "a license whose grace is over": [
    { validUntil: later(NOW, -3 * HOUR), graceHours: 2 },
    {},
    "the license has ended",
  ],
  "a license that ends before the lease does": [
    { validUntil: later(NOW, HOUR) },
    { exp: seconds(NOW) + 2 * HOURS },
    "the lease outlasts the license",
  ],
  "a license that has not started": [{ start: later(NOW, DAY) }, {}, "the license is not in force"],
  "a license that is disabled": [{ enabled: false }, {}, "the license is not in force"],
  "a license that allows a shorter borrow": [
    { borrowHours: 24 },
    { exp: seconds(NOW) + 25 * HOURS },
    "the lease is longer than the license allows",
  ],
  "a license that allows no borrow": [
    { borrowHours: null, timeoutMinutes: 30 },
    { exp: seconds(NOW) + 24 * HOURS },
    "the lease is longer than the license allows",
  ],
  "a start in the future to last longer": [
    {},
    { iat: seconds(NOW) + 23 * HOURS, exp: seconds(NOW) + 47 * HOURS },
    "the lease begins in the future",
  ],
  "no start date": [{}, { iat: undefined }, "the lease is longer than the license allows"],
  "another serial": [{}, { serial: 2 }, "the lease is of another license"],
  "another license's id": [{}, { license_id: 4_711 }, "the lease is of another license"],
  "another license's document": [{}, { lic: sha256("other") }, "the lease is of another license"],
  "another appliance's id": [{}, { iss: "0123456789ABCDEF" }, "the lease is of another appliance"],
  "no nonce": [{}, { nonce: null }, "the lease is for another device"],
  "another device's nonce": [
    {},
    { nonce: "digest-of-other-01" },
    "the lease is for another device",
  ],
};

describe.each([
  ["a license installed from a file", openByFile],
  ["a license installed by code", openByCode],
])("the README's check of a lease of %s", (_kind, open) => {
  test("accepts the genuine leases of register and borrow", async () => {
    const { site, product, installLicense } = await open();
    const { checkLease } = await installLicense({ ...TERMS, validUntil: later(NOW, 30 * DAY) });
    for (const call of [site.register, site.borrow]) {
      const { lease } = expectOk(await call({ user: "ada" }, { "x-nonce": NONCE }));
      expect(await checkLease(lease ?? "")).toMatchObject({
        sub: "ada",
        aud: product,
        nonce: NONCE,
      });
    }
  });

  test("accepts a genuine lease until the license ends, although the slot would last longer", async () => {
    const { site, installLicense } = await open();
    const { checkLease } = await installLicense({ ...TERMS, validUntil: later(NOW, 10 * MINUTE) });
    for (const call of [site.register, site.borrow]) {
      const { lease } = expectOk(await call({ user: "ada" }, { "x-nonce": NONCE }));
      expect(await checkLease(lease ?? "")).toMatchObject({
        exp: seconds(later(NOW, 10 * MINUTE)),
      });
    }
  });

  test("accepts a genuine lease during the grace period of the license", async () => {
    const { site, installLicense } = await open();
    const { checkLease } = await installLicense({
      ...TERMS,
      validUntil: later(NOW, -HOUR),
      graceHours: 2,
    });
    const { lease } = expectOk(await site.borrow({ user: "ada" }, { "x-nonce": NONCE }));
    expect(await checkLease(lease ?? "")).toMatchObject({ exp: seconds(later(NOW, HOUR)) });
  });

  test("accepts a genuine lease after a renewal that allows a shorter borrow", async () => {
    const { site, installLicense } = await open();
    await installLicense({ ...TERMS, borrowHours: 48 });
    expectOk(await site.borrow({ user: "ada" }, { "x-nonce": NONCE }));
    const renewed = await installLicense({ ...TERMS, borrowHours: 2 }, { serial: 2 });
    const { lease } = expectOk(await site.register({ user: "ada" }, { "x-nonce": NONCE }));
    expect(await renewed.checkLease(lease ?? "")).toMatchObject({
      exp: seconds(later(NOW, 2 * HOUR)),
    });
  });

  test.each([
    ["accepts a lease that ended 59 s ago", { iat: -HOURS, exp: -59 }, null],
    [
      "refuses a lease that ended 60 s ago",
      { iat: -HOURS, exp: -60 },
      '"exp" claim timestamp check failed',
    ],
    ["accepts a lease that starts in 60 s", { iat: 60, exp: HOURS }, null],
    [
      "refuses a lease that starts in 61 s",
      { iat: 61, exp: HOURS },
      "the lease begins in the future",
    ],
  ])("%s, as clocks may differ by 60 s", async (_verdict, { iat, exp }, reason) => {
    const site = await open();
    const license = await site.installLicense(TERMS);
    const now = seconds(NOW);
    const lease = await forgeLease(site, license, { iat: now + iat, exp: now + exp });
    // The check reads the application's clock, which must not advance while a busy machine is slow.
    setSystemTime(new Date(now * 1_000));
    onTestFinished(() => void setSystemTime());
    if (reason === null) expect(await license.checkLease(lease)).toMatchObject({ sub: "eve" });
    else expect(license.checkLease(lease)).rejects.toThrow(reason);
  });

  test("accepts a forged lease within the license's terms, which this check cannot detect", async () => {
    const site = await open();
    const license = await site.installLicense(TERMS);
    expect(await license.checkLease(await forgeLease(site, license))).toMatchObject({ sub: "eve" });
  });

  test("refuses a forged lease with a license for another product", async () => {
    const site = await open();
    const license = await site.installLicense({ ...TERMS, product: site.otherProduct });
    expect(license.checkLease(await forgeLease(site, license))).rejects.toThrow(
      "the license is for another product",
    );
  });

  test.each(Object.entries(REFUSED))("refuses a forged lease with %s", async (_what, row) => {
    const [overrides, claims, reason] = row;
    const site = await open();
    const license = await site.installLicense({ ...TERMS, ...overrides });
    expect(license.checkLease(await forgeLease(site, license, claims))).rejects.toThrow(reason);
  });

  test("refuses a forged lease with the id of another key", async () => {
    const site = await open();
    const license = await site.installLicense(TERMS);
    const lease = await forgeLease(site, license, {}, "0123456789ABCDEF");
    expect(license.checkLease(lease)).rejects.toThrow("the lease is of another appliance");
  });

  test("refuses a forged lease for the license as it was before its renewal", async () => {
    const site = await open();
    const old = await site.installLicense(TERMS);
    const renewed = await site.installLicense(TERMS, { serial: 2 });
    expect(renewed.license_id).toBe(old.license_id);
    expect(await renewed.checkLease(await forgeLease(site, renewed))).toMatchObject({ serial: 2 });
    const [lease, mixed] = [
      await forgeLease(site, old),
      await forgeLease(site, { ...renewed, serial: old.serial }),
    ];
    for (const wrong of [lease, mixed]) {
      expect(renewed.checkLease(wrong)).rejects.toThrow("the lease is of another license");
    }
  });

  test("uses the end outside of the terms rather than the one in the terms", async () => {
    const site = await open();
    const ended = await site.installLicense(
      { ...TERMS, validUntil: later(NOW, DAY) },
      { ends: MIDNIGHT },
    );
    expect(ended.checkLease(await forgeLease(site, ended))).rejects.toThrow(
      "the license has ended",
    );
    const ends = later(MIDNIGHT, 2 * DAY);
    const longer = await site.installLicense(
      { ...TERMS, validUntil: MIDNIGHT },
      { number: 2, ends },
    );
    expect(await longer.checkLease(await forgeLease(site, longer))).toMatchObject({ sub: "eve" });
  });
});
