import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type License,
} from "../../../support/appliance.ts";
import { keyIdOf } from "../../../../src/license/documents/keys.ts";
import { DAY, instant, later } from "../../../../src/domain/time.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { featureTerms, hoursLater, MONDAY } from "../../../support/scenario.ts";
import {
  answerRequest,
  certifyKey,
  createVendor,
  makeTrustDocument,
  VENDOR,
  VENDOR_KEY,
} from "../../../support/vendor.ts";

const PATH = "/api/v4/license/upload";

/** The equivalent encodings in which a document can be sent. */
const ENCODINGS: readonly [
  string,
  (site: Appliance, text: string) => Promise<ApiResponse<License>>,
][] = [
  ["a file of a form", (site, text) => sendForm(site, "license", new File([text], "a.jwt"))],
  ["a file under any name", (site, text) => sendForm(site, "__proto__", new File([text], "x"))],
  ["a field of a form", (site, text) => sendForm(site, "license", text)],
  ["plain text", (site, text) => sendText(site, text)],
  ["plain text with line breaks around it", (site, text) => sendText(site, `\r\n ${text}\r\n`)],
  ["JSON", (site, license) => site.post<License>(PATH, { license })],
  ["JSON in any case of the name", (site, text) => site.post<License>(PATH, { License: text })],
];

async function sendForm(site: Appliance, name: string, value: string | File) {
  const form = new FormData();
  form.append(name, value);
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "";
  const body = await encoded.arrayBuffer();
  return site.send<License>("POST", PATH, { body, headers: { "content-type": type } });
}

const sendText = (site: Appliance, body: string) =>
  site.send<License>("POST", PATH, { body, headers: { "content-type": "text/plain" } });

test.each([
  PATH,
  "/api/admin/v1/trust/add",
  "/api/admin/v1/clock/repair",
  "/api/admin/v1/statements/acknowledge",
])("%s lists the media types it accepts when it refuses another", async (path) => {
  const site = await openAppliance();
  const request = { body: "x", headers: { "content-type": "application/octet-stream" } };
  const message = await expectRefusedUnchanged(site, 415, "unsupported_media_type", () =>
    site.send("POST", path, request),
  );
  for (const mediaType of ["multipart/form-data", "text/plain", "application/json"]) {
    expect(message).toContain(mediaType);
  }
  const other = await site.send("POST", "/api/v4/register", request);
  expect(expectRefusal(other, 415, "unsupported_media_type")).not.toContain("multipart");
});

describe("an uploaded license", () => {
  test.each(ENCODINGS)("is accepted as %s and grants slots at once", async (_encoding, send) => {
    const site = await openAppliance({ licenses: {} });
    const document = await answerRequest(await site.makeRequestDocument(), 7, {
      slots: 3,
      customer: "Initech",
    });
    const license = expectOk(await send(site, document));
    expect(license).toMatchObject({ id: 7, floating_users: 3, customer: "Initech" });
    expect(license).toMatchObject(expectOk(await site.license()));
    expect(expectOk(await site.register({ user: "ada" })).license_id).toBe(7);
  });

  test("gets the same reply when it is sent again, and writes nothing", async () => {
    const site = await openAppliance({ licenses: {} });
    const document = await answerRequest(await site.makeRequestDocument(), 7);
    const first = expectOk(await site.upload(document));
    const written = site.lastSeq();
    for (const [, send] of ENCODINGS) expect(expectOk(await send(site, document))).toEqual(first);
    expect(site.lastSeq()).toBe(written);
  });

  test("is the same when its key ended or is retired, or its product is no longer the vendor's", async () => {
    const site = await openAppliance({ licenses: {} });
    const until = Math.floor(hoursLater(1) / 1_000);
    const issuing = await certifyKey(VENDOR_KEY, { until });
    const request = await site.makeRequestDocument();
    const document = await answerRequest(request, 7, {}, {}, { id: VENDOR.id, issuing });
    expectOk(await site.upload(document));
    site.clock.now = hoursLater(2);
    expectOk(await site.upload(document));
    const differing = { version: 2, products: ["cam"], retired: [keyIdOf(issuing.key)] };
    unwrap(await site.vendorTrust.trustVendor(await makeTrustDocument(differing), "test"));
    const written = site.lastSeq();
    expect(expectOk(await site.upload(document)).id).toBe(7);
    expect(site.lastSeq()).toBe(written);
  });

  test("with a newer serial renews the license and keeps its registrations", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const renewed = await answerRequest(
      await site.makeRequestDocument(),
      1,
      { slots: 9 },
      { serial: 2 },
    );
    expect(expectOk(await site.upload(renewed))).toMatchObject({
      id: 1,
      floating_users: 9,
      floating_in_use_devices: 1,
    });
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("may be renewed by a file that answers no request", async () => {
    const site = await openAppliance();
    const withoutRequest = { serial: 2, request_id: null, nonce: null };
    const renewed = await answerRequest(
      await site.makeRequestDocument(),
      1,
      { slots: 9 },
      withoutRequest,
    );
    expect(expectOk(await site.upload(renewed)).floating_users).toBe(9);
  });

  test("survives a restart", async () => {
    const site = await openAppliance({ licenses: {} });
    expectOk(await site.upload(await answerRequest(await site.makeRequestDocument(), 7)));
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await next.license()).id).toBe(7);
    expectOk(await next.register({ user: "ada" }));
  });
});

describe("license/upload is refused", () => {
  const expectUploadRefused = (site: Appliance, code: string, document: string): Promise<string> =>
    expectRefusedUnchanged(site, 400, code, () => site.upload(document));

  test.each([
    ["no license in it", {}],
    ["an empty license", { license: "" }],
    ["a blank license", { license: " \n" }],
    ["null", { license: null }],
  ])("with missing_parameters for a body with %s", async (_what, fields) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.post(PATH, fields),
    );
    expect(message).toBe("license must be given");
  });

  test("with missing_parameters for an empty text and an empty form file", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => sendText(site, ""));
    await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      sendForm(site, "license", new File([], "empty")),
    );
  });

  test("with invalid_license_file for a text that is no license or was changed after signing", async () => {
    const site = await openAppliance();
    const good = await answerRequest(await site.makeRequestDocument(), 7);
    const [header = "", payload = "", signature = ""] = good.split(".");
    const texts = [
      "nonsense",
      "a.b.c",
      `${header}.${payload}.`,
      `${header}.${payload}.${"A".repeat(signature.length)}`,
      `${header}.${Buffer.from("{}").toString("base64url")}.${signature}`,
      "x".repeat(60_000),
      await site.makeRequestDocument(),
      await makeTrustDocument(),
      await answerRequest(await site.makeRequestDocument(), 0),
      await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 0 }),
      await answerRequest(await site.makeRequestDocument(), 7, { timeoutMinutes: 0 }),
    ];
    for (const text of texts) {
      expect(await expectUploadRefused(site, "invalid_license_file", text)).toStartWith(
        "the file ",
      );
    }
    expectOk(await site.upload(good));
  });

  test("with untrusted_vendor for an unknown vendor and for a product of another vendor", async () => {
    const site = await openAppliance();
    const otherVendor = await createVendor({ products: ["theirs"] });
    const ofOtherVendor = await answerRequest(
      await site.makeRequestDocument(),
      7,
      {},
      {},
      otherVendor,
    );
    await expectUploadRefused(site, "untrusted_vendor", ofOtherVendor);
    const ofOtherProduct = await answerRequest(await site.makeRequestDocument(), 7, {
      product: "theirs",
    });
    await expectUploadRefused(site, "untrusted_vendor", ofOtherProduct);
    expectOk(await site.post("/api/admin/v1/trust/add", { license: otherVendor.trust }));
    await expectUploadRefused(site, "untrusted_vendor", ofOtherVendor);
    await expectUploadRefused(site, "untrusted_vendor", ofOtherProduct);
    const rightful = await answerRequest(
      await site.makeRequestDocument(),
      7,
      { product: "theirs" },
      {},
      otherVendor,
    );
    expectOk(await site.upload(rightful));
  });

  test("with untrusted_vendor for the id of another vendor's license", async () => {
    const site = await openAppliance();
    const otherVendor = await createVendor({ products: ["theirs"] });
    expectOk(await site.post("/api/admin/v1/trust/add", { license: otherVendor.trust }));
    const terms = { product: "theirs" };
    const clash = await answerRequest(
      await site.makeRequestDocument(),
      1,
      terms,
      { serial: 9 },
      otherVendor,
    );
    await expectUploadRefused(site, "untrusted_vendor", clash);
  });

  test("with hardware_mismatch for another appliance and for other hardware", async () => {
    const site = await openAppliance();
    const other = await openAppliance();
    const forOther = await answerRequest(await other.makeRequestDocument(), 7);
    const { id } = other.services.identity;
    expect(await expectUploadRefused(site, "hardware_mismatch", forOther)).toBe(
      `the license is for appliance ${id}; this one is ${site.services.identity.id}: install it there, or create a new request here`,
    );
    const hardware_id = "00".repeat(32);
    const moved = await answerRequest(await site.makeRequestDocument(), 7, {}, { hardware_id });
    expect(await expectUploadRefused(site, "hardware_mismatch", moved)).toBe(
      "the license was signed for other hardware; create a new request on this machine",
    );
    await expectUploadRefused(
      site,
      "hardware_mismatch",
      await answerRequest(await site.makeRequestDocument(), 7, {}, { appliance: id }),
    );
  });

  test("with trust_outdated, retired_key or key_ended first, whatever else is wrong with it", async () => {
    const site = await openAppliance({ licenses: {} });
    const now = Math.floor(MONDAY / 1_000);
    const [retired, ended, newer] = [
      await certifyKey(VENDOR_KEY, { until: now }),
      await certifyKey(VENDOR_KEY, { until: now }),
      await certifyKey(VENDOR_KEY, { trust: 3, until: now }),
    ];
    const keys = [keyIdOf(retired.key), keyIdOf(newer.key)];
    const trust = await makeTrustDocument({ version: 2, retired: keys });
    unwrap(await site.vendorTrust.trustVendor(trust, "test"));
    const request = await site.makeRequestDocument();
    const wrong = { appliance: "0".repeat(16), request_id: null, nonce: null };
    for (const [code, issuing] of [
      ["trust_outdated", newer],
      ["retired_key", retired],
      ["key_ended", ended],
      ["hardware_mismatch", VENDOR.issuing],
    ] as const) {
      const terms = { product: "theirs" };
      const vendor = { id: VENDOR.id, issuing };
      const document = await answerRequest(request, 7, terms, wrong, vendor);
      await expectRefusedUnchanged(site, 400, code, () => site.upload(document));
    }
  });

  test("with request_unknown for an unknown request, another nonce, no request, or one too old", async () => {
    const site = await openAppliance();
    const request = await site.makeRequestDocument();
    const unknownRequest = { request_id: "0".repeat(32) };
    await expectUploadRefused(
      site,
      "request_unknown",
      await answerRequest(request, 7, {}, unknownRequest),
    );
    const otherNonce = { nonce: "0".repeat(32) };
    await expectUploadRefused(
      site,
      "request_unknown",
      await answerRequest(request, 7, {}, otherNonce),
    );
    const noRequest = { request_id: null, nonce: null };
    await expectUploadRefused(
      site,
      "request_unknown",
      await answerRequest(request, 7, {}, noRequest),
    );
    site.clock.now = later(MONDAY, 400 * DAY);
    await expectUploadRefused(site, "request_unknown", await answerRequest(request, 7));
  });

  test("with request_used for a second license that answers one request", async () => {
    const site = await openAppliance();
    const request = await site.makeRequestDocument();
    expectOk(await site.upload(await answerRequest(request, 7)));
    await expectUploadRefused(site, "request_used", await answerRequest(request, 8));
    expectOk(await site.upload(await answerRequest(request, 7, {}, { serial: 2 })));
  });

  test("with stale_license for an older serial and for the same serial with other terms", async () => {
    const site = await openAppliance({ licenses: {} });
    const first = await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 4 });
    expectOk(
      await site.upload(
        await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 5 }),
      ),
    );
    expect(await expectUploadRefused(site, "stale_license", first)).toContain("serial 5");
    const same = await answerRequest(
      await site.makeRequestDocument(),
      7,
      { slots: 99 },
      { serial: 5 },
    );
    await expectUploadRefused(site, "stale_license", same);
  });
});

test("a license on changed hardware is refused with hardware_mismatch until a new one is installed", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  await site.stop();
  const components = [{ kind: "machine_id", value: "f".repeat(32) }] as const;
  const moved = await openAppliance({ folder: site.folder, licenses: {}, components });
  moved.clock.now = hoursLater(0);
  expectRefusal(await moved.register({ user: "ada" }), 400, "hardware_mismatch");
  expect(expectOk(await moved.status()).licenses).toMatchObject([{ refusal: "hardware_mismatch" }]);
  expectOk(await moved.unregister({ user: "ada" }));
  const rebound = await answerRequest(await moved.makeRequestDocument(), 1, {}, { serial: 2 });
  expectOk(await moved.upload(rebound));
  expectOk(await moved.register({ user: "ada" }));
});

describe("the reply of license/upload", () => {
  interface UploadedLicense extends License {
    readonly changes: readonly string[] | null;
  }
  const upload = async (site: Appliance, document: string) =>
    expectOk(await site.post<UploadedLicense>(PATH, { license: document }));

  test("lists the changes of a renewal, and has null for a new license and for a repeat", async () => {
    const site = await openAppliance({ licenses: {} });
    const ends = (year: number) => ({ validUntil: instant(Date.UTC(year, 0, 1)) });
    const features = [featureTerms("EXPORT"), featureTerms("PRO")];
    const first = await answerRequest(await site.makeRequestDocument(), 7, {
      slots: 3,
      ...ends(2097),
      features,
    });
    expect((await upload(site, first)).changes).toBeNull();
    expect((await upload(site, first)).changes).toBeNull();
    const changed = { slots: 8, ...ends(2099), features: features.slice(1) };
    const renewal = await answerRequest(await site.makeRequestDocument(), 7, changed, {
      serial: 2,
    });
    expect((await upload(site, renewal)).changes).toEqual([
      "slots 3 → 8",
      "ends 2099-01-01T00:00:00Z (was 2097-01-01T00:00:00Z)",
      "feature EXPORT removed",
    ]);
    expect((await upload(site, renewal)).changes).toBeNull();
    const same = await answerRequest(await site.makeRequestDocument(), 7, changed, { serial: 3 });
    expect((await upload(site, same)).changes).toEqual([]);
  });
});
