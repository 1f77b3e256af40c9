// A server of the site's own making: it has the appliance's key and genuine licenses, and signs
// whatever leases it likes. The README's checks hold them to what the vendor signed.
import { describe, expect, onTestFinished, setSystemTime, test } from "bun:test";
import { importJWK, SignJWT } from "jose";
import type { Terms } from "../../src/domain/terms.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { publicPart } from "../../src/license/keys.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import { sha256 } from "../../src/platform/hash.ts";
import { AirgapSite, makeDesk } from "../support/airgap-site.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { loadLeaseCheck } from "../support/readme.ts";
import { terms as termsOf } from "../support/scenario.ts";
import { answerRequest, VENDOR_KEY, toTermsDocument } from "../support/vendor.ts";

const NONCE = "my-device-nonce-0001";
const NOW = instant(Date.now());
const MIDNIGHT = instant(NOW - (NOW % DAY));
const HOURS = 60 * 60;

/** What a lease says of the license it belongs to. */
interface LicenseReference {
  readonly license_id: number;
  readonly serial: number;
  readonly lic: string;
}

/** A license of the vendor's for this appliance, installed the ordinary way. */
interface InstalledLicense extends LicenseReference {
  readonly checkLease: (lease: string) => Promise<unknown>;
}

interface LicenseOptions {
  readonly serial?: number;
  /** Licenses with the same number are one that was renewed. */
  readonly number?: number;
  /** The end, as the vendor gives it beside the terms where there is such a way. */
  readonly ends?: Instant;
}

interface LeaseSite {
  readonly site: Appliance;
  readonly product: string;
  readonly otherProduct: string;
  installLicense(differing: Partial<Terms>, about?: LicenseOptions): Promise<InstalledLicense>;
}

async function openByFile(): Promise<LeaseSite> {
  const site = await openAppliance({ licenses: {} });
  site.clock.now = NOW;
  const [product, otherProduct] = ["cad", "cam"];
  const check = await loadLeaseCheck("checkLease");
  const given = { vendorKey: publicPart(VENDOR_KEY), product, nonce: NONCE };
  return {
    site,
    product,
    otherProduct,
    installLicense: async (differing, { serial = 1, number = 1, ends } = {}) => {
      const terms = { product, ...differing, ...(ends !== undefined && { validUntil: ends }) };
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
        checkLease: (lease) => check({ ...given, lease, license }),
      };
    },
  };
}

async function openByCode(): Promise<LeaseSite> {
  const site = await openAppliance({ licenses: {} });
  site.clock.now = NOW;
  const [product, otherProduct] = ["mesh", "grid"];
  const desk = await makeDesk([product, otherProduct]);
  unwrap(await site.licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "test"));
  const air = new AirgapSite(site, desk);
  const check = await loadLeaseCheck("checkLeaseByCode");
  const given = { vendorKey: publicPart(desk.key), product, nonce: NONCE };
  return {
    site,
    product,
    otherProduct,
    installLicense: async (differing, { serial = 1, number = 1, ends } = {}) => {
      const whole = toTermsDocument(termsOf({ product, ...differing }));
      // A perpetual license has no end: the desk finds the type that fits the end.
      const { license_key: _key, license_type: _type, ...terms } = whole;
      const policy = await air.replacePolicy(`P-${number}`, terms);
      const named = { policy, licenseKey: `KEY-${number}`, serial };
      const body = await air.makeLicenseBody({ ...named, validUntil: ends ?? null, now: NOW });
      const { id } = expectOk(await air.addLicense(body));
      const bundle = expectOk(await site.get<object>(`/api/v4/license?license_id=${id}`, JWT));
      const { grant } = unwrap(await site.operations.findLicense({ product: null, licenseId: id }));
      const { lic } = grant;
      return {
        license_id: id,
        serial,
        lic,
        checkLease: (lease) => check({ ...given, lease, bundle }),
      };
    },
  };
}

const JWT = { accept: "application/jwt" };

/** Signed with the appliance's own key: an hour from now on, unless it says otherwise. */
async function mint(
  { site, product }: LeaseSite,
  proof: LicenseReference,
  claims: object = {},
  kid?: string,
) {
  const { identity } = site.services;
  const { license_id, serial, lic } = proof;
  const plain = { iss: identity.id, sub: "eve", aud: product, jti: "1", nonce: NONCE };
  const iat = seconds(NOW);
  const ours = { ...plain, license_id, serial, lic, iat, exp: iat + HOURS };
  return new SignJWT({ ...ours, host: "", borrowed: true, ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: "berth-lease+jwt", kid: kid ?? identity.id })
    .sign(await importJWK(identity.key, "EdDSA"));
}

const seconds = (at: Instant): number => Math.floor(at / 1_000);

const TERMS: Partial<Terms> = { borrowHours: 24 };

/** Terms of a genuine license, what the lease claims besides, and why it is refused. */
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
  "a license that has not begun": [{ start: later(NOW, DAY) }, {}, "the license is not in force"],
  "a license that is disabled": [{ enabled: false }, {}, "the license is not in force"],
  "a license that lends for a shorter time": [
    { borrowHours: 24 },
    { exp: seconds(NOW) + 25 * HOURS },
    "the lease is longer than the license allows",
  ],
  "a license that lends nothing": [
    { borrowHours: null, timeoutMinutes: 30 },
    { exp: seconds(NOW) + 24 * HOURS },
    "the lease is longer than the license allows",
  ],
  "a lease dated ahead to last longer": [
    {},
    { iat: seconds(NOW) + 23 * HOURS, exp: seconds(NOW) + 47 * HOURS },
    "the lease begins in the future",
  ],
  "a lease without a date": [{}, { iat: undefined }, "the lease is longer than the license allows"],
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
  ["a license that came as a file", openByFile],
  ["a license that came by code", openByCode],
])("the README's check of a lease of %s", (_kind, open) => {
  test("accepts the server's own, registered and borrowed", async () => {
    const { site, product, installLicense } = await open();
    const { checkLease } = await installLicense({ ...TERMS, validUntil: later(NOW, 30 * DAY) });
    for (const act of [site.register, site.borrow]) {
      const { lease } = expectOk(await act({ user: "ada" }, { "x-nonce": NONCE }));
      expect(await checkLease(lease ?? "")).toMatchObject({
        sub: "ada",
        aud: product,
        nonce: NONCE,
      });
    }
  });

  test("accepts the server's own until the license ends, although the slot would last", async () => {
    const { site, installLicense } = await open();
    const { checkLease } = await installLicense({ ...TERMS, validUntil: later(NOW, 10 * MINUTE) });
    for (const act of [site.register, site.borrow]) {
      const { lease } = expectOk(await act({ user: "ada" }, { "x-nonce": NONCE }));
      expect(await checkLease(lease ?? "")).toMatchObject({
        exp: seconds(later(NOW, 10 * MINUTE)),
      });
    }
  });

  test("accepts the server's own while the license is in its grace", async () => {
    const { site, installLicense } = await open();
    const { checkLease } = await installLicense({
      ...TERMS,
      validUntil: later(NOW, -HOUR),
      graceHours: 2,
    });
    const { lease } = expectOk(await site.borrow({ user: "ada" }, { "x-nonce": NONCE }));
    expect(await checkLease(lease ?? "")).toMatchObject({ exp: seconds(later(NOW, HOUR)) });
  });

  test("accepts the server's own after a renewal that lends for a shorter time", async () => {
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
    ["ended 59 s ago", { iat: -HOURS, exp: -59 }, null],
    ["ended 60 s ago", { iat: -HOURS, exp: -60 }, '"exp" claim timestamp check failed'],
    ["begins in 60 s", { iat: 60, exp: HOURS }, null],
    ["begins in 61 s", { iat: 61, exp: HOURS }, "the lease begins in the future"],
  ])("gives 60 s of leeway to a lease that %s", async (_when, { iat, exp }, reason) => {
    const site = await open();
    const proof = await site.installLicense(TERMS);
    const now = seconds(NOW);
    const lease = await mint(site, proof, { iat: now + iat, exp: now + exp });
    // The application's clock is what counts, and it must not go on while a busy machine waits.
    setSystemTime(new Date(now * 1_000));
    onTestFinished(() => void setSystemTime());
    if (reason === null) expect(await proof.checkLease(lease)).toMatchObject({ sub: "eve" });
    else expect(proof.checkLease(lease)).rejects.toThrow(reason);
  });

  test("accepts a look-alike's that keeps to the license: that is not stopped here", async () => {
    const site = await open();
    const proof = await site.installLicense(TERMS);
    expect(await proof.checkLease(await mint(site, proof))).toMatchObject({ sub: "eve" });
  });

  test("refuses a look-alike's with a license for another product", async () => {
    const site = await open();
    const proof = await site.installLicense({ ...TERMS, product: site.otherProduct });
    expect(proof.checkLease(await mint(site, proof))).rejects.toThrow(
      "the license is for another product",
    );
  });

  test.each(Object.entries(REFUSED))("refuses a look-alike's with %s", async (_what, row) => {
    const [differing, claims, reason] = row;
    const site = await open();
    const proof = await site.installLicense({ ...TERMS, ...differing });
    expect(proof.checkLease(await mint(site, proof, claims))).rejects.toThrow(reason);
  });

  test("refuses a look-alike's under the name of another key", async () => {
    const site = await open();
    const proof = await site.installLicense(TERMS);
    const lease = await mint(site, proof, {}, "0123456789ABCDEF");
    expect(proof.checkLease(lease)).rejects.toThrow("the lease is of another appliance");
  });

  test("refuses a look-alike's for the license before the one that is shown", async () => {
    const site = await open();
    const old = await site.installLicense(TERMS);
    const renewed = await site.installLicense(TERMS, { serial: 2 });
    expect(renewed.license_id).toBe(old.license_id);
    expect(await renewed.checkLease(await mint(site, renewed))).toMatchObject({ serial: 2 });
    const [lease, mixed] = [
      await mint(site, old),
      await mint(site, { ...renewed, serial: old.serial }),
    ];
    for (const wrong of [lease, mixed]) {
      expect(renewed.checkLease(wrong)).rejects.toThrow("the lease is of another license");
    }
  });

  test("goes by the end that the vendor gave last", async () => {
    const site = await open();
    const ended = await site.installLicense(
      { ...TERMS, validUntil: later(NOW, DAY) },
      { ends: MIDNIGHT },
    );
    expect(ended.checkLease(await mint(site, ended))).rejects.toThrow("the license has ended");
    const ends = later(MIDNIGHT, 2 * DAY);
    const longer = await site.installLicense(
      { ...TERMS, validUntil: MIDNIGHT },
      { number: 2, ends },
    );
    expect(await longer.checkLease(await mint(site, longer))).toMatchObject({ sub: "eve" });
  });
});
