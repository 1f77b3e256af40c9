// What an application gets to check by itself: as it would, with a stock library and public keys.
import { describe, expect, test } from "bun:test";
import { decodeJwt, importJWK, jwtVerify } from "jose";
import { keyIdOf, publicPart } from "../../src/license/keys.ts";
import { sha256 } from "../../src/platform/hash.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { hoursLater, minutesLater } from "../support/scenario.ts";
import { VENDOR_KEY } from "../support/vendor.ts";

const NONCE = "abcDEF012345._~-";
const ADA = { user: "ada", product: "cad", os_hostname: "ws-17" };
const UNTIL = "2026-03-02T19:00:00.000Z";

/** The claims of a lease, if the appliance's own key signed it. */
async function verified(site: Appliance, lease: string | null): Promise<Record<string, unknown>> {
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

/** The vendor's document, as an application asks for it. */
async function document(site: Appliance): Promise<string> {
  const [response, text] = await site.get<string>("/api/v4/license?product=cad", {
    accept: "application/jwt",
  });
  expect(response.headers.get("content-type")).toBe("application/jwt");
  return text;
}

describe("registering", () => {
  test("with a nonce gets a lease that says all of the slot, and holds the nonce", async () => {
    const site = await openAppliance();
    const slot = expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    expect(await verified(site, slot.lease)).toEqual({
      iss: site.services.identity.id,
      sub: "ada",
      aud: "cad",
      license_id: 1,
      lic: sha256(await document(site)),
      serial: 1,
      jti: "1",
      iat: minutesLater(0) / 1_000,
      exp: minutesLater(30) / 1_000,
      host: "ws-17",
      borrowed: false,
      nonce: NONCE,
    });
  });

  test("without one gets none, however often", async () => {
    const site = await openAppliance();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
  });

  test("again gets a lease for the time from then on, of the same slot", async () => {
    const site = await openAppliance();
    expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    site.clock.now = minutesLater(20);
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": NONCE.toLowerCase() }));
    expect(await verified(site, lease)).toMatchObject({
      jti: "1",
      iat: minutesLater(20) / 1_000,
      exp: minutesLater(50) / 1_000,
      nonce: NONCE.toLowerCase(),
    });
  });

  test("says of a borrowed slot that it is borrowed, until when it is", async () => {
    const site = await openAppliance();
    expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }));
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": NONCE }));
    expect(await verified(site, lease)).toMatchObject({
      borrowed: true,
      exp: hoursLater(10) / 1_000,
    });
  });

  test("refused is no lease", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 0 } } });
    await expectRefusedUnchanged(site, 400, "floating_not_available", () =>
      site.register(ADA, { "x-nonce": NONCE }),
    );
  });
});

describe("borrowing", () => {
  test("always gets a lease, for as long as it is borrowed", async () => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }));
    expect(await verified(site, lease)).toMatchObject({
      sub: "ada",
      borrowed: true,
      exp: hoursLater(10) / 1_000,
      nonce: null,
    });
  });

  test("puts the application's nonce into it", async () => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.borrow(ADA, { "x-nonce": NONCE }));
    expect(await verified(site, lease)).toMatchObject({ nonce: NONCE, borrowed: true });
  });

  test("under a key gets one again with the repeat, and none once the slot was given back", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 1 } } });
    const keyed = { "idempotency-key": "k-1", "x-nonce": NONCE };
    const asked = { ...ADA, borrowed_until: UNTIL };
    const first = expectOk(await site.borrow(asked, keyed));
    const again = expectOk(await site.borrow(asked, keyed));
    expect(await verified(site, again.lease)).toEqual(await verified(site, first.lease));
    expectOk(await site.unregister({ user: "ada" }));
    const written = site.lastSeq();
    const { lease, license_json: _json, ...late } = expectOk(await site.borrow(asked, keyed));
    expect(lease).toBeNull();
    expect(late).toMatchObject({ user: "ada", borrowed_until: UNTIL });
    expect(site.lastSeq()).toBe(written);
    expectOk(await site.register({ user: "bob" }));
    expect(expectOk(await site.borrow(asked, keyed)).lease).toBeNull();
    expect(await site.listHolders()).toEqual(["bob"]);
  });

  test("under a key gets none once the slot has run out", async () => {
    const site = await openAppliance();
    const keyed = { "idempotency-key": "k-1" };
    expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }, keyed));
    site.clock.now = hoursLater(10);
    const late = expectOk(await site.borrow({ ...ADA, borrowed_until: UNTIL }, keyed));
    expect(late.lease).toBeNull();
  });
});

describe("X-Nonce", () => {
  test.each(["x".repeat(16), "x".repeat(128), "A-._~9AAAAAAAAAA"])("may be %j", async (nonce) => {
    const site = await openAppliance();
    const { lease } = expectOk(await site.register(ADA, { "x-nonce": nonce }));
    expect(await verified(site, lease)).toMatchObject({ nonce });
  });

  test.each([
    ["too short", "x".repeat(15)],
    ["too long", "x".repeat(129)],
    ["empty", ""],
    ["of other characters", `${"x".repeat(16)}!`],
    ["with a space inside", "xxxxxxxx xxxxxxxx"],
    ["of letters beyond ASCII", "é".repeat(16)],
  ])("that is %s is refused by register and borrow alike", async (_what, nonce) => {
    const site = await openAppliance();
    for (const act of [site.register, site.borrow]) {
      const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
        act(ADA, { "x-nonce": nonce }),
      );
      expect(message).toContain("X-Nonce must be 16 to 128");
    }
    expect(await site.listHolders()).toEqual([]);
  });
});

test("the chain holds with the vendor's public key alone: license, appliance, lease", async () => {
  const site = await openAppliance();
  const { lease } = expectOk(await site.borrow(ADA, { "x-nonce": NONCE }));
  const license = await document(site);
  const vendor = await importJWK(publicPart(VENDOR_KEY), "EdDSA");
  const { payload } = await jwtVerify(license, vendor, {
    algorithms: ["EdDSA"],
    typ: "berth-license+jwt",
    issuer: keyIdOf(VENDOR_KEY),
  });
  const { jwk } = payload["cnf"] as { jwk: { kty: "OKP"; crv: "Ed25519"; x: string } };
  expect(jwk).toEqual(publicPart(site.services.identity.key));
  const checked = await jwtVerify(lease ?? "", await importJWK(jwk, "EdDSA"), {
    typ: "berth-lease+jwt",
    currentDate: new Date(site.clock.now),
  });
  expect(checked.payload["lic"]).toBe(sha256(license));
  expect(checked.payload["serial"]).toBe(payload["serial"]);
});

test("a lease never outlives its slot by a fraction of a second", async () => {
  const site = await openAppliance();
  const { lease } = expectOk(
    await site.borrow({ ...ADA, borrowed_until: "2026-03-02T19:00:00.999Z" }),
  );
  expect(decodeJwt(lease ?? "").exp).toBe(hoursLater(10) / 1_000);
});
