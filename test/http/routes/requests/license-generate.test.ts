import { describe, expect, test } from "bun:test";
import {
  verifyLicenseRequest,
  type LicenseRequest,
} from "../../../../src/license/requests/request.ts";
import { keyIdOf } from "../../../../src/license/documents/keys.ts";
import { sha256 } from "../../../../src/platform/crypto/hash.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { VENDOR_KEY, VENDOR_PRODUCTS, makeTrustDocument } from "../../../support/vendor.ts";

interface GeneratedRequest {
  readonly request_id: string;
  readonly created_at: string;
  readonly hardware_id: string;
  readonly product: string | null;
  readonly license_key: string | null;
  readonly filename: string;
  readonly payload: string;
  readonly cloud_payload: string | null;
  readonly cloud_filename: string | null;
  readonly warnings: readonly string[];
}

const generate = (site: Appliance, fields: object, headers = {}) =>
  site.post<GeneratedRequest>("license/generate", { ...fields }, headers);

/** Reads a payload as a vendor's desk does. */
const readRequest = async (payload: string): Promise<LicenseRequest> =>
  unwrap(await verifyLicenseRequest(payload));

test("license/generate replies with all fields of the request and a signed payload that agrees", async () => {
  const site = await openAppliance();
  const { identity } = site.services;
  const generated = expectOk(await generate(site, { product: "cad", license_key: "KEY-1" }));
  const { payload, ...reply } = generated;
  expect(reply).toEqual({
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    created_at: "2026-03-02T09:00:00.000Z",
    hardware_id: identity.hashHardware().hardwareId,
    product: "cad",
    license_key: "KEY-1",
    filename: `berth-request-${generated.request_id.slice(0, 8)}.jwt`,
    cloud_payload: null,
    cloud_filename: null,
    warnings: [],
  });
  const { nonce, audit, heads, ...request } = await readRequest(payload);
  const [trusted] = unwrap(await site.vendorTrust.listVendors());
  expect(request).toMatchObject({
    request_id: generated.request_id,
    created_at: generated.created_at,
    product: "cad",
    license_key: "KEY-1",
    appliance: identity.id,
    hardware_id: generated.hardware_id,
    hardware: identity.hashHardware().hardware,
    licenses: [{ license_id: 1, product: "cad", serial: 1, total_consumptions: 0 }],
    trust: [{ vendor: keyIdOf(VENDOR_KEY), version: 1, sum: sha256(trusted?.document ?? "") }],
  });
  expect(nonce).toMatch(/^[0-9a-f]{32}$/);
  expect(heads.at(-1)).toEqual({
    request_id: generated.request_id,
    audit_seq: audit.seq,
    sum: audit.sum,
  });
});

test.each([
  ["a product alone", { product: "cad" }, "cad", null],
  ["a license key alone", { license_key: "K" }, null, "K"],
  ["neither", {}, null, null],
  ["a product that is not licensed yet", { product: "new one" }, "new one", null],
])("license/generate makes a request for %s", async (_what, fields, product, license_key) => {
  const site = await openAppliance();
  const generated = expectOk(await generate(site, fields));
  expect(generated).toMatchObject({ product, license_key });
  expect(await readRequest(generated.payload)).toMatchObject({ product, license_key });
});

test.each([
  ["q041b b2je3 y9wcw 088gg", "Q041B-B2JE3-Y9WCW-088GG"],
  ["qo4lbb2je3y9wcwo88gg", "Q041B-B2JE3-Y9WCW-088GG"],
  ["abcde fghij kmnpq rstvw", "abcde fghij kmnpq rstvw"],
])("license/generate signs the license key %j as %s", async (typed, license_key) => {
  const site = await openAppliance();
  const generated = expectOk(await generate(site, { product: "cad", license_key: typed }));
  expect(generated).toMatchObject({ product: "cad", license_key });
  expect(await readRequest(generated.payload)).toMatchObject({ product: "cad", license_key });
});

test("license/generate warns about a product that no trusted vendor licenses", async () => {
  const site = await openAppliance();
  const generated = expectOk(await generate(site, { product: "CAD" }));
  expect(generated.warnings).toEqual([
    "no trusted vendor licenses CAD; they license cad, cam, DEMO",
  ]);
  expect(await readRequest(generated.payload)).toMatchObject({ product: "CAD" });
  expect(expectOk(await generate(site, { product: "DEMO" })).warnings).toEqual([]);
  expect(expectOk(await generate(site, {})).warnings).toEqual([]);
});

test("the warning of license/generate names only the first of many products", async () => {
  const site = await openAppliance();
  const products = Array.from({ length: 40 }, (_, index) => `p${index}`);
  const license = await makeTrustDocument({
    products: [...VENDOR_PRODUCTS, ...products],
    version: 2,
  });
  expectOk(await site.post("/api/admin/v1/trust/add", { license }));
  const { warnings } = expectOk(await generate(site, { product: "new" }));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^no trusted vendor licenses new; they license cad, .* and 23 more$/);
});

test("license/generate warns when no vendor is trusted, and names the command that adds one", async () => {
  const site = await openAppliance({ licenses: {} });
  expectOk(await site.post("/api/admin/v1/trust/remove", { vendor: keyIdOf(VENDOR_KEY) }));
  for (const fields of [{}, { product: "cad" }]) {
    expect(expectOk(await generate(site, fields)).warnings).toEqual([
      "no vendor is trusted yet; add the vendor's trust document with berth trust add",
    ]);
  }
});

test("license/generate makes a request without a product for an empty body", async () => {
  const site = await openAppliance({ licenses: {} });
  const generated = expectOk(await site.send<GeneratedRequest>("POST", "/api/v4/license/generate"));
  expect(await readRequest(generated.payload)).toMatchObject({ product: null, licenses: [] });
});

test("license/generate replies with the payload alone for Accept: text/plain", async () => {
  const site = await openAppliance();
  for (const accept of ["text/plain", "TEXT/plain; charset=utf-8"]) {
    const reply = await site.post<string>("license/generate", { product: "cad" }, { accept });
    const payload = expectOk(reply);
    expect((await readRequest(payload)).product).toBe("cad");
  }
});

test("license/generate makes a new request each time and writes it to the journal first", async () => {
  const site = await openAppliance();
  const before = site.lastSeq();
  const first = expectOk(await generate(site, {}));
  const second = expectOk(await generate(site, {}));
  expect(first.request_id).not.toBe(second.request_id);
  expect((await readRequest(first.payload)).nonce).not.toBe(
    (await readRequest(second.payload)).nonce,
  );
  expect(site.lastSeq()).toBe(before + 2);
  const heads = (await readRequest(second.payload)).heads.map(({ request_id }) => request_id);
  expect(heads.slice(-2)).toEqual([first.request_id, second.request_id]);
});

test("license/generate puts the present consumption of each license into the request", async () => {
  const site = await openAppliance();
  expectOk(await site.addConsumption({ consumptions: "4" }));
  const { licenses } = await readRequest(await site.makeRequestDocument());
  expect(licenses).toMatchObject([{ license_id: 1, total_consumptions: 4 }]);
});

describe("license/generate with both cloud keys set", () => {
  test("adds a cloud request when a license key is named", async () => {
    const site = await openAppliance();
    expectOk(await site.post("setKeys", { apiKey: "api", sharedKey: "shared" }));
    const generated = expectOk(await generate(site, { product: "cad", license_key: "KEY-1" }));
    expect(generated.cloud_filename).toBe(`request-${generated.request_id.slice(0, 8)}.req`);
    const cloud = JSON.parse(
      Buffer.from(generated.cloud_payload ?? "", "base64").toString(),
    ) as object;
    expect(cloud).toMatchObject({
      request: "activation",
      request_id: generated.request_id,
      license_key: "KEY-1",
      hardware_id: generated.hardware_id,
      product: "cad",
      api_key: "api",
    });
    expect(JSON.stringify(cloud)).not.toContain("shared");
    expect(expectOk(await generate(site, { product: "cad" })).cloud_payload).toBeNull();
  });
});

test.each([
  ["invalid_type", { product: 5 }],
  ["invalid_type", { license_key: ["K"] }],
  ["too_long", { product: "x".repeat(257) }],
  ["too_long", { license_key: "x".repeat(257) }],
  ["invalid_characters", { license_key: "K\u0000" }],
])("license/generate is refused with %s for %j", async (code, fields) => {
  const site = await openAppliance();
  await expectRefusedUnchanged(site, 400, code, () => generate(site, fields));
});
