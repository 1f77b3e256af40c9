import { describe, expect, test } from "bun:test";
import { err } from "../../../src/domain/result.ts";
import { signKeyRequest, verifyKeyRequest } from "../../../src/license/documents/key-request.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  APPLIANCE_KEY,
  base64url,
  buildHeader,
  ISSUING_KEY,
  keyIdOf,
  signUnchecked,
  VENDOR_KEY,
} from "../../vectors/generate.ts";

const request = { vendor: keyIdOf(VENDOR_KEY), jwk: publicPart(ISSUING_KEY) };

const signAs = (key: typeof ISSUING_KEY, payload: unknown): string =>
  signUnchecked(buildHeader("key-request", key), payload, key);

const REFUSED = err({ wrong: "content" as const, expected: "key-request" as const });

describe("verifyKeyRequest", () => {
  test("returns the key that signed the request, and for which vendor", async () => {
    const text = await signKeyRequest(request, ISSUING_KEY);
    expect(text).toBe(signAs(ISSUING_KEY, request));
    expect(await verifyKeyRequest(text)).toEqual({ ok: true, value: request });
  });

  test("refuses a request for a key that did not sign it", async () => {
    expect(await verifyKeyRequest(signAs(APPLIANCE_KEY, request))).toEqual(REFUSED);
    const renamed = signUnchecked(buildHeader("key-request", ISSUING_KEY), request, APPLIANCE_KEY);
    expect(await verifyKeyRequest(renamed)).toEqual(err({ wrong: "signature" }));
  });

  test.each<[string, unknown]>([
    ["no vendor", { jwk: request.jwk }],
    ["a vendor that is no id", { ...request, vendor: "Initrode" }],
    ["no key", { vendor: request.vendor }],
    ["an unknown member", { ...request, until: 1 }],
    ["a list as payload", [request]],
    ["null as payload", null],
  ])("refuses a request with %s", async (_name, payload) => {
    expect(await verifyKeyRequest(signAs(ISSUING_KEY, payload))).toEqual(REFUSED);
  });

  test("refuses a key of low order", async () => {
    const jwk = { ...request.jwk, x: base64url(new Uint8Array(32).with(0, 1)) };
    const header = { ...buildHeader("key-request", ISSUING_KEY), kid: keyIdOf(jwk) };
    const [first = "", second = ""] = signUnchecked(header, { ...request, jwk }, ISSUING_KEY).split(
      ".",
    );
    const text = `${first}.${second}.${base64url(new Uint8Array(64).with(0, 1))}`;
    expect(await verifyKeyRequest(text)).toEqual(REFUSED);
  });

  test("refuses other kinds of documents", async () => {
    const text = signUnchecked(buildHeader("request", ISSUING_KEY), request, ISSUING_KEY);
    expect(await verifyKeyRequest(text)).toEqual(err({ wrong: "kind", kind: "request" }));
    expect(await verifyKeyRequest("a.b.c")).toEqual(err({ wrong: "form" }));
  });
});
