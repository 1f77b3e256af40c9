import { describe, expect, test } from "bun:test";
import { instant } from "../../../src/domain/time.ts";
import { buildCloudRequest, signCloudLines } from "../../../src/license/requests/cloud-request.ts";

const SHARED_KEY = "kw4qSnpSwXzgiv5yxYpZZmFEd9QAeiKTQ6OuyMja";
const DATE = "Tue, 07 Jun 2011 20:51:35 GMT";

const activation = {
  requestId: "REQ-1",
  licenseKey: "GZ8Q-ÄÖÜ-1",
  hardwareId: "hw-0001",
  product: "modeler2",
  date: instant(Date.UTC(2011, 5, 7, 20, 51, 35, 999)),
  apiKey: "api-key",
  sharedKey: SHARED_KEY,
};

const decodeRequest = (request: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(request, "base64").toString("utf8")) as Record<string, unknown>;

/** The signature, computed with another implementation than the one under test. */
async function hmac(key: string, text: string): Promise<string> {
  const utf8 = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", utf8.encode(key), algorithm, false, [
    "sign",
  ]);
  return Buffer.from(await crypto.subtle.sign("HMAC", imported, utf8.encode(text))).toString(
    "base64",
  );
}

describe("signCloudLines", () => {
  test("gives the published signature for the published key and date", () => {
    expect(signCloudLines(SHARED_KEY, DATE, [])).toBe(
      "UDysfR6MndUZReo07Y9r+vErn8vSxrnQ5ulit18iJ/Q=",
    );
  });

  test("encodes key and text as UTF-8", async () => {
    expect(signCloudLines("schlüssel", DATE, ["ä", "b"])).toBe(
      await hmac("schlüssel", `licenseSpring\ndate: ${DATE}\nä\nb`),
    );
  });
});

describe("buildCloudRequest", () => {
  test("returns Base64 of an object with exactly the expected fields", async () => {
    const text = `licenseSpring\ndate: ${DATE}\nGZ8Q-ÄÖÜ-1\nhw-0001\napi-key`;
    const request = buildCloudRequest(activation);
    expect(request).toMatch(/^(?:[A-Za-z0-9+/]{4})+[A-Za-z0-9+/]{2}==$/);
    expect(decodeRequest(request)).toEqual({
      request: "activation",
      request_id: "REQ-1",
      license_key: "GZ8Q-ÄÖÜ-1",
      hardware_id: "hw-0001",
      product: "modeler2",
      date: DATE,
      api_key: "api-key",
      signature: await hmac(SHARED_KEY, text),
    });
  });

  test("does not include the shared key", () => {
    expect(JSON.stringify(decodeRequest(buildCloudRequest(activation)))).not.toContain(SHARED_KEY);
  });

  test("returns the same text for the same activation", () => {
    expect(buildCloudRequest(activation)).toBe(buildCloudRequest({ ...activation }));
  });

  for (const [name, other] of Object.entries({
    "license key": { licenseKey: "other" },
    "hardware id": { hardwareId: "other" },
    "api key": { apiKey: "other" },
    "shared key": { sharedKey: "other" },
    date: { date: instant(0) },
  })) {
    test(`gives another signature for another ${name}`, () => {
      const { signature } = decodeRequest(buildCloudRequest({ ...activation, ...other }));
      expect(signature).not.toBe(decodeRequest(buildCloudRequest(activation))["signature"]);
    });
  }

  test("writes the date in GMT and the day with two digits", () => {
    const { date } = decodeRequest(buildCloudRequest({ ...activation, date: instant(0) }));
    expect(date).toBe("Thu, 01 Jan 1970 00:00:00 GMT");
  });
});
