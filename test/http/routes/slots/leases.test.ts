// Leases are checked as an application does it: with a standard library and public keys.
import { describe, expect, test } from "bun:test";
import { decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { keyIdOf, publicPart } from "../../../../src/license/documents/keys.ts";
import { sha256 } from "../../../../src/platform/crypto/hash.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { hoursLater, minutesLater } from "../../../support/scenario.ts";
import { VENDOR_KEY } from "../../../support/vendor.ts";

const NONCE = "abcDEF012345._~-";
const ADA = { user: "ada", product: "cad", os_hostname: "ws-17" };
const UNTIL = "2026-03-02T19:00:00.000Z";

/** Returns the claims of a lease after checking the signature with the appliance's key. */
async function verifyLease(
  site: Appliance,
  lease: string | null,
): Promise<Record<string, unknown>> {
  const key = await importJWK(publicPart(site.services.identity.key), "EdDSA");
  const { payload, protectedHeader } = await jwtVerify(lease ?? "", key, {
    algorithms: ["EdDSA"],
    typ: "berth-lease+jwt",
    issuer: site.services.identity.id,
    audience: "cad",
    currentDate: new Date(site.clock.now),
  });
  expect(protectedHeader.kid).toBe(site.services.identity.id);
  return payload;
}

/** Gets the vendor's license document as an application does. */
async function getDocument(site: Appliance): Promise<string> {
  const [response, text] = await site.get<string>("/api/v4/license?product=cad", {
    accept: "application/jwt",
  });
  expect(response.headers.get("content-type")).toBe("application/jwt");
  return text;
}

test("a slot that outlasts its license expires for its user with the license, as its lease does", async () => {
  const site = await openAppliance({
    licenses: { 1: { validUntil: hoursLater(1), graceHours: 1, timeoutMinutes: 30 } },
  });
  site.clock.now = minutesLater(89);
  expect(expectOk(await site.register(ADA)).expires_at).toBe("2026-03-02T10:59:00.000Z");
  site.clock.now = minutesLater(119);
  const slot = expectOk(await site.register(ADA, { "x-nonce": NONCE }));
  expect(slot.expires_at).toBe("2026-03-02T11:00:00.000Z");
  const { exp } = await verifyLease(site, slot.lease);
  expect(exp).toBe(Date.parse(slot.expires_at) / 1_000);
  const borrowed = expectOk(await site.borrow({ user: "bob", until: slot.expires_at }));
  expect(borrowed.expires_at).toBe(slot.expires_at);
});

describe("register", () => {
  test("with a nonce returns a lease with all claims of the slot and the nonce", async () => {
    const site = await openAppliance();
    const slot = expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    expect(await verifyLease(site, slot.lease)).toEqual({
      iss: site.services.identity.id,
      sub: "ada",
      aud: "cad",
      license_id: 1,
      lic: sha256(await getDocument(site)),
      serial: 1,
      jti: "1",
      iat: minutesLater(0) / 1_000,
      exp: minutesLater(30) / 1_000,
      host: "ws-17",
      borrowed: false,
      nonce: NONCE,
    });
  });

  test("without a nonce returns no lease, also the second time", async () => {
    const site = await openAppliance();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
  });

  test("again returns a lease of the same slot for the time from then on", async () => {
    const site = await openAppliance();
    expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    site.clock.now = minutesLater(20);
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": NONCE.toLowerCase() }));
    expect(await verifyLease(site, lease)).toMatchObject({
      jti: "1",
      iat: minutesLater(20) / 1_000,
      exp: minutesLater(50) / 1_000,
      nonce: NONCE.toLowerCase(),
    });
  });

  test("of a borrowed slot returns a lease that is marked as borrowed and ends with the borrow", async () => {
    const site = await openAppliance();
    expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }));
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    expect(await verifyLease(site, lease)).toMatchObject({
      borrowed: true,
      exp: hoursLater(10) / 1_000,
    });
  });

  test("with a nonce returns no lease when it is refused", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 0 } } });
    await expectRefusedUnchanged(site, 400, "floating_not_available", () =>
      site.register(ADA, { "x-nonce": NONCE }),
    );
  });
});

describe("borrow", () => {
  test("returns a lease until the end of the borrow, also without a nonce", async () => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }));
    expect(await verifyLease(site, lease)).toMatchObject({
      sub: "ada",
      borrowed: true,
      exp: hoursLater(10) / 1_000,
      nonce: null,
    });
  });

  test("puts the application's nonce into the lease", async () => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.borrow(ADA, { "x-nonce": NONCE }));
    expect(await verifyLease(site, lease)).toMatchObject({ nonce: NONCE, borrowed: true });
  });

  test("repeated with its Idempotency-Key returns the lease, and none once the slot was released", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 1 } } });
    const headers = { "idempotency-key": "k-1", "x-nonce": NONCE };
    const fields = { ...ADA, borrowed_until: UNTIL };
    const first = expectOk(await site.borrow(fields, headers));
    const again = expectOk(await site.borrow(fields, headers));
    expect(await verifyLease(site, again.lease)).toEqual(await verifyLease(site, first.lease));
    expectOk(await site.unregister({ user: "ada" }));
    const written = site.lastSeq();
    const {
      lease,
      license_json: _json,
      ...repeated
    } = expectOk(await site.borrow(fields, headers));
    expect(lease).toBeNull();
    expect(repeated).toMatchObject({ user: "ada", borrowed_until: UNTIL });
    expect(site.lastSeq()).toBe(written);
    expectOk(await site.register({ user: "bob" }));
    expect(expectOk(await site.borrow(fields, headers)).lease).toBeNull();
    expect(await site.listHolders()).toEqual(["bob"]);
  });

  test("repeated with its Idempotency-Key returns no lease once the slot has expired", async () => {
    const site = await openAppliance();
    const headers = { "idempotency-key": "k-1" };
    expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }, headers));
    site.clock.now = hoursLater(10);
    const repeated = expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }, headers));
    expect(repeated.lease).toBeNull();
  });
});

describe("X-Nonce", () => {
  test.each(["x".repeat(16), "x".repeat(128), "A-._~9AAAAAAAAAA"])("may be %j", async (nonce) => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": nonce }));
    expect(await verifyLease(site, lease)).toMatchObject({ nonce });
  });

  test.each([
    ["too short", "x".repeat(15)],
    ["too long", "x".repeat(129)],
    ["empty", ""],
    ["of other characters", `${"x".repeat(16)}!`],
    ["with a space inside", "xxxxxxxx xxxxxxxx"],
    ["of letters outside ASCII", "é".repeat(16)],
  ])("that is %s is refused by register and borrow", async (_what, nonce) => {
    const site = await openAppliance();
    for (const call of [site.register, site.borrow]) {
      const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
        call(ADA, { "x-nonce": nonce }),
      );
      expect(message).toContain("X-Nonce must be 16 to 128");
    }
    expect(await site.listHolders()).toEqual([]);
  });
});

/** The key that a document names. */
interface Confirming {
  readonly cnf: {
    readonly jwk: { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string };
  };
}

test("the vendor's root key alone verifies the chain of key, license, appliance and lease", async () => {
  const site = await openAppliance();
  const { lease } = expectOk(await site.borrow(ADA, { "x-nonce": NONCE }));
  const license = await getDocument(site);
  const { cert } = decodeProtectedHeader(license) as { cert: string };
  const root = await importJWK(publicPart(VENDOR_KEY), "EdDSA");
  const expected = { algorithms: ["EdDSA"], issuer: keyIdOf(VENDOR_KEY) };
  const certified = await jwtVerify<Confirming>(cert, root, { ...expected, typ: "berth-key+jwt" });
  const issuing = await importJWK(certified.payload.cnf.jwk, "EdDSA");
  const { payload } = await jwtVerify<Confirming>(license, issuing, {
    ...expected,
    typ: "berth-license+jwt",
  });
  const { jwk } = payload.cnf;
  expect(jwk).toEqual(publicPart(site.services.identity.key));
  const verified = await jwtVerify(lease ?? "", await importJWK(jwk, "EdDSA"), {
    typ: "berth-lease+jwt",
    currentDate: new Date(site.clock.now),
  });
  expect(verified.payload["lic"]).toBe(sha256(license));
  expect(verified.payload["serial"]).toBe(payload["serial"]);
});

test("a lease does not outlast its slot by a fraction of a second", async () => {
  const site = await openAppliance();
  const { lease } = expectOk(
    await site.borrow({ ...ADA, borrowed_until: "2026-03-02T19:00:00.999Z" }),
  );
  expect(decodeJwt(lease ?? "").exp).toBe(hoursLater(10) / 1_000);
});
