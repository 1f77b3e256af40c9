import { describe, expect, test } from "bun:test";
import { verifyLicenseRequest, type LicenseRequest } from "../../src/license/request.ts";
import { keyIdOf } from "../../src/license/keys.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { VENDOR_KEY, VENDOR_PRODUCTS, makeTrustDocument } from "../support/vendor.ts";

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

/** What a vendor's desk reads out of a payload. */
const readBy = async (payload: string): Promise<LicenseRequest> =>
  unwrap(await verifyLicenseRequest(payload));

test("a request is answered with all of it, and the payload says the same, signed", async () => {
  const site = await openAppliance();
  const { identity } = site.services;
  const made = expectOk(await generate(site, { product: "cad", license_key: "KEY-1" }));
  const { payload, ...told } = made;
  expect(told).toEqual({
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    created_at: "2026-03-02T09:00:00.000Z",
    hardware_id: identity.hashHardware().hardwareId,
    product: "cad",
    license_key: "KEY-1",
    filename: `berth-request-${made.request_id.slice(0, 8)}.jwt`,
    cloud_payload: null,
    cloud_filename: null,
    warnings: [],
  });
  const { nonce, audit, heads, ...request } = await readBy(payload);
  expect(request).toMatchObject({
    request_id: made.request_id,
    created_at: made.created_at,
    product: "cad",
    license_key: "KEY-1",
    appliance: identity.id,
    hardware_id: made.hardware_id,
    hardware: identity.hashHardware().hardware,
    licenses: [{ license_id: 1, product: "cad", serial: 1, total_consumptions: 0 }],
    trust: [{ vendor: keyIdOf(VENDOR_KEY), version: 1 }],
  });
  expect(nonce).toMatch(/^[0-9a-f]{32}$/);
  expect(heads.at(-1)).toEqual({
    request_id: made.request_id,
    audit_seq: audit.seq,
    sum: audit.sum,
  });
});

test.each([
  ["a product alone", { product: "cad" }, "cad", null],
  ["a license key alone", { license_key: "K" }, null, "K"],
  ["neither", {}, null, null],
  ["a product nobody has licensed yet", { product: "new one" }, "new one", null],
])("it may be for %s", async (_what, fields, product, license_key) => {
  const site = await openAppliance();
  const made = expectOk(await generate(site, fields));
  expect(made).toMatchObject({ product, license_key });
  expect(await readBy(made.payload)).toMatchObject({ product, license_key });
});

test("a request for a product that no trusted vendor licenses is made, with a warning", async () => {
  const site = await openAppliance();
  const made = expectOk(await generate(site, { product: "CAD" }));
  expect(made.warnings).toEqual(["no trusted vendor licenses CAD; they license cad, cam, DEMO"]);
  expect(await readBy(made.payload)).toMatchObject({ product: "CAD" });
  expect(expectOk(await generate(site, { product: "DEMO" })).warnings).toEqual([]);
  expect(expectOk(await generate(site, {})).warnings).toEqual([]);
});

test("a warning names the first products of many", async () => {
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

test("a request made before a vendor is trusted says what is needed besides", async () => {
  const site = await openAppliance({ licenses: {} });
  expectOk(await site.post("/api/admin/v1/trust/remove", { vendor: keyIdOf(VENDOR_KEY) }));
  for (const fields of [{}, { product: "cad" }]) {
    expect(expectOk(await generate(site, fields)).warnings).toEqual([
      "no vendor is trusted yet; add the vendor's trust document with berth trust add",
    ]);
  }
});

test("an empty body is a request for anything, as on a site that has nothing yet", async () => {
  const site = await openAppliance({ licenses: {} });
  const made = expectOk(await site.send<GeneratedRequest>("POST", "/api/v4/license/generate"));
  expect(await readBy(made.payload)).toMatchObject({ product: null, licenses: [] });
});

test("with Accept: text/plain the payload is the answer", async () => {
  const site = await openAppliance();
  for (const accept of ["text/plain", "TEXT/plain; charset=utf-8"]) {
    const answer = await site.post<string>("license/generate", { product: "cad" }, { accept });
    const payload = expectOk(answer);
    expect((await readBy(payload)).product).toBe("cad");
  }
});

test("every request is one of its own, on record before it is handed over", async () => {
  const site = await openAppliance();
  const before = site.lastSeq();
  const first = expectOk(await generate(site, {}));
  const second = expectOk(await generate(site, {}));
  expect(first.request_id).not.toBe(second.request_id);
  expect((await readBy(first.payload)).nonce).not.toBe((await readBy(second.payload)).nonce);
  expect(site.lastSeq()).toBe(before + 2);
  const heads = (await readBy(second.payload)).heads.map(({ request_id }) => request_id);
  expect(heads.slice(-2)).toEqual([first.request_id, second.request_id]);
});

test("it tells what was counted and on what, up to this moment", async () => {
  const site = await openAppliance();
  expectOk(await site.addConsumption({ consumptions: "4" }));
  const { licenses } = await readBy(await site.makeRequestDocument());
  expect(licenses).toMatchObject([{ license_id: 1, total_consumptions: 4 }]);
});

describe("with both keys set", () => {
  test("a request with a license key comes for the cloud as well", async () => {
    const site = await openAppliance();
    expectOk(await site.post("setKeys", { apiKey: "api", sharedKey: "shared" }));
    const made = expectOk(await generate(site, { product: "cad", license_key: "KEY-1" }));
    expect(made.cloud_filename).toBe(`request-${made.request_id.slice(0, 8)}.req`);
    const cloud = JSON.parse(Buffer.from(made.cloud_payload ?? "", "base64").toString()) as object;
    expect(cloud).toMatchObject({
      request: "activation",
      request_id: made.request_id,
      license_key: "KEY-1",
      hardware_id: made.hardware_id,
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
])("%s is the answer to a body like %j", async (code, fields) => {
  const site = await openAppliance();
  await expectRefusedUnchanged(site, 400, code, () => generate(site, fields));
});
