import { describe, expect, test } from "bun:test";
import { generateKey } from "../../src/license/keys.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type License,
} from "../support/appliance.ts";
import { DAY, instant, later } from "../../src/domain/time.ts";
import { featureTerms, hoursLater, MONDAY } from "../support/scenario.ts";
import { answerRequest, makeTrustDocument } from "../support/vendor.ts";

const PATH = "/api/v4/license/upload";

/** The ways a file can be sent, all the same to us. */
const WAYS: readonly [string, (site: Appliance, text: string) => Promise<ApiResponse<License>>][] =
  [
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

test.each([PATH, "/api/admin/v1/trust/add", "/api/admin/v1/clock/repair"])(
  "%s says in which ways it takes a document",
  async (path) => {
    const site = await openAppliance();
    const sent = { body: "x", headers: { "content-type": "application/octet-stream" } };
    const said = await expectRefusedUnchanged(site, 415, "unsupported_media_type", () =>
      site.send("POST", path, sent),
    );
    for (const way of ["multipart/form-data", "text/plain", "application/json"]) {
      expect(said).toContain(way);
    }
    const elsewhere = await site.send("POST", "/api/v4/register", sent);
    expect(expectRefusal(elsewhere, 415, "unsupported_media_type")).not.toContain("multipart");
  },
);

describe("a license", () => {
  test.each(WAYS)("comes in as %s, and serves at once", async (_way, send) => {
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

  test("again is answered the same, and nothing is written for it", async () => {
    const site = await openAppliance({ licenses: {} });
    const document = await answerRequest(await site.makeRequestDocument(), 7);
    const first = expectOk(await site.upload(document));
    const written = site.lastSeq();
    for (const [, send] of WAYS) expect(expectOk(await send(site, document))).toEqual(first);
    expect(site.lastSeq()).toBe(written);
  });

  test("renews the one of the same id; who holds a slot keeps it, totals stay", async () => {
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

  test("may be renewed by a file that answers nothing", async () => {
    const site = await openAppliance();
    const unasked = { serial: 2, request_id: null, nonce: null };
    const renewed = await answerRequest(await site.makeRequestDocument(), 1, { slots: 9 }, unasked);
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

describe("an upload is refused", () => {
  const refuses = (site: Appliance, code: string, document: string): Promise<string> =>
    expectRefusedUnchanged(site, 400, code, () => site.upload(document));

  test.each([
    ["no license in it", {}],
    ["an empty one", { license: "" }],
    ["a blank one", { license: " \n" }],
    ["null", { license: null }],
  ])("as missing_parameters for a body with %s", async (_what, fields) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.post(PATH, fields),
    );
    expect(message).toBe("license must be given");
  });

  test("as missing_parameters for an empty text and a form with nothing in it", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => sendText(site, ""));
    await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      sendForm(site, "license", new File([], "empty")),
    );
  });

  test("as invalid_license_file for what is no license, or not as it was signed", async () => {
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
      expect(await refuses(site, "invalid_license_file", text)).toStartWith("the file ");
    }
    expectOk(await site.upload(good));
  });

  test("as untrusted_vendor for a stranger, and for a product that is not the vendor's", async () => {
    const site = await openAppliance();
    const stranger = await generateKey();
    const strange = await answerRequest(await site.makeRequestDocument(), 7, {}, {}, stranger);
    await refuses(site, "untrusted_vendor", strange);
    const foreign = await answerRequest(await site.makeRequestDocument(), 7, { product: "theirs" });
    await refuses(site, "untrusted_vendor", foreign);
    const theirs = await makeTrustDocument({ products: ["theirs"] }, stranger);
    expectOk(await site.post("/api/admin/v1/trust/add", { license: theirs }));
    await refuses(site, "untrusted_vendor", strange);
    await refuses(site, "untrusted_vendor", foreign);
    const own = await answerRequest(
      await site.makeRequestDocument(),
      7,
      { product: "theirs" },
      {},
      stranger,
    );
    expectOk(await site.upload(own));
  });

  test("as untrusted_vendor for an id that is another vendor's license", async () => {
    const site = await openAppliance();
    const stranger = await generateKey();
    const theirs = await makeTrustDocument({ products: ["theirs"] }, stranger);
    expectOk(await site.post("/api/admin/v1/trust/add", { license: theirs }));
    const terms = { product: "theirs" };
    const clash = await answerRequest(
      await site.makeRequestDocument(),
      1,
      terms,
      { serial: 9 },
      stranger,
    );
    await refuses(site, "untrusted_vendor", clash);
  });

  test("as hardware_mismatch for another appliance, and for other hardware", async () => {
    const site = await openAppliance();
    const other = await openAppliance();
    const elsewhere = await answerRequest(await other.makeRequestDocument(), 7);
    const { id } = other.services.identity;
    expect(await refuses(site, "hardware_mismatch", elsewhere)).toBe(
      `the license is for appliance ${id}; this one is ${site.services.identity.id}: install it there, or create a new request here`,
    );
    const hardware_id = "00".repeat(32);
    const moved = await answerRequest(await site.makeRequestDocument(), 7, {}, { hardware_id });
    expect(await refuses(site, "hardware_mismatch", moved)).toBe(
      "the license was signed for other hardware; create a new request on this machine",
    );
    await refuses(
      site,
      "hardware_mismatch",
      await answerRequest(await site.makeRequestDocument(), 7, {}, { appliance: id }),
    );
  });

  test("as request_unknown for a request never made, another nonce, none at all, or too late", async () => {
    const site = await openAppliance();
    const asked = await site.makeRequestDocument();
    const never = { request_id: "0".repeat(32) };
    await refuses(site, "request_unknown", await answerRequest(asked, 7, {}, never));
    const nonce = { nonce: "0".repeat(32) };
    await refuses(site, "request_unknown", await answerRequest(asked, 7, {}, nonce));
    const none = { request_id: null, nonce: null };
    await refuses(site, "request_unknown", await answerRequest(asked, 7, {}, none));
    site.clock.now = later(MONDAY, 400 * DAY);
    await refuses(site, "request_unknown", await answerRequest(asked, 7));
  });

  test("as request_used for a second license in answer to one request", async () => {
    const site = await openAppliance();
    const asked = await site.makeRequestDocument();
    expectOk(await site.upload(await answerRequest(asked, 7)));
    await refuses(site, "request_used", await answerRequest(asked, 8));
    await refuses(site, "request_used", await answerRequest(asked, 7, {}, { serial: 2 }));
  });

  test("as stale_license for an older serial, and for the same one with other content", async () => {
    const site = await openAppliance({ licenses: {} });
    const first = await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 4 });
    expectOk(
      await site.upload(
        await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 5 }),
      ),
    );
    expect(await refuses(site, "stale_license", first)).toContain("serial 5");
    const same = await answerRequest(
      await site.makeRequestDocument(),
      7,
      { slots: 99 },
      { serial: 5 },
    );
    await refuses(site, "stale_license", same);
  });
});

test("a license for other hardware is shown with why it does not serve, and can be asked for anew", async () => {
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

describe("the reply to an upload", () => {
  interface UploadedLicense extends License {
    readonly changes: readonly string[] | null;
  }
  const upload = async (site: Appliance, document: string) =>
    expectOk(await site.post<UploadedLicense>(PATH, { license: document }));

  test("says what a renewal changed, and null for a new license and for the same one again", async () => {
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
