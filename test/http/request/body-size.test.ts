// How much of a request body is read, with and without a declared length.
import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RawRequest,
  type RequestHeaders,
} from "../../support/appliance.ts";

const JSON_TYPE = { "content-type": "application/json" };
const KIB = 1024;

const post = (site: Appliance, body: RawRequest["body"], headers: RequestHeaders = JSON_TYPE) =>
  site.send("POST", "/api/v4/register", { ...(body !== undefined && { body }), headers });

const bodyOfSize = (bytes: number): string => {
  const empty = JSON.stringify({ user: "ada", x: "" });
  return JSON.stringify({ user: "ada", x: "y".repeat(bytes - empty.length) });
};

const toStream = (text: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 10_000) {
        controller.enqueue(new Uint8Array(bytes.subarray(at, at + 10_000)));
      }
      controller.close();
    },
  });

const declareLength = (bytes: number): RequestHeaders => ({
  ...JSON_TYPE,
  "content-length": String(bytes),
});

describe("a request body", () => {
  test.each<[string, number]>([
    ["accepted with 64 KiB", 64 * KIB],
    ["refused with 64 KiB and 1 byte", 64 * KIB + 1],
  ])("is %s, as text or stream, with or without Content-Length", async (_side, bytes) => {
    const text = bodyOfSize(bytes);
    for (const [body, headers] of [
      [text, declareLength(bytes)],
      [text, JSON_TYPE],
      [toStream(text), JSON_TYPE],
      [toStream(text), declareLength(bytes)],
    ] as const) {
      const site = await openAppliance();
      const reply = await post(site, body, headers);
      if (bytes <= 64 * KIB) expectOk(reply);
      else expect(expectRefusal(reply, 413, "too_large")).toContain("65536");
      expect(await site.listHolders()).toEqual(bytes <= 64 * KIB ? ["ada"] : []);
    }
  });

  test("over 64 KiB is refused although Content-Length declares 10 bytes", async () => {
    const site = await openAppliance();
    const text = bodyOfSize(64 * KIB + 1);
    await expectRefusedUnchanged(site, 413, "too_large", () => post(site, text, declareLength(10)));
  });

  test("without an end is refused before 80 KiB of it are read", async () => {
    const site = await openAppliance();
    let pullCount = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pullCount += 1;
        controller.enqueue(new Uint8Array(KIB).fill(32));
        // The reader does not know this end. It stops a reader that has no limit.
        if (pullCount === 1_000) controller.close();
      },
    });
    await expectRefusedUnchanged(site, 413, "too_large", () => post(site, endless));
    expect(pullCount).toBeLessThan(80);
  });
});

describe("a request body with a document", () => {
  test.each([
    ["/api/v4/license/upload", "application/json"],
    ["/api/v4/license/upload", "text/plain"],
    ["/api/v4/license/upload", "multipart/form-data; boundary=x"],
    ["/api/admin/v1/trust/add", "application/json"],
    ["/api/admin/v1/trust/add", "text/plain"],
    ["/api/admin/v1/clock/repair", "text/plain"],
    ["/api/v4/airgap/license", "application/json"],
    ["/api/admin/v1/qr", "application/json"],
    ["/api/admin/v1/qr/join", "application/json"],
  ])("may have 128 KiB and no more: POST %s as %s", async (path, type) => {
    const site = await openAppliance();
    const send = (bytes: number) =>
      site.send("POST", path, { body: bodyOfSize(bytes), headers: { "content-type": type } });
    await expectRefusedUnchanged(site, 413, "too_large", () => send(128 * KIB + 1));
    const [{ status }] = await send(128 * KIB);
    expect(status).toBe(400);
  });
});
