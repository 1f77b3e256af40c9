// How much of a body is read, however its length is told.
import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RawRequest,
  type RequestHeaders,
} from "../support/appliance.ts";

const JSON_TYPE = { "content-type": "application/json" };
const KIB = 1024;

const post = (site: Appliance, body: RawRequest["body"], headers: RequestHeaders = JSON_TYPE) =>
  site.send("POST", "/api/v4/register", { ...(body !== undefined && { body }), headers });

const ofBytes = (bytes: number): string => {
  const empty = JSON.stringify({ user: "ada", x: "" });
  return JSON.stringify({ user: "ada", x: "y".repeat(bytes - empty.length) });
};

const streamed = (text: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 10_000) {
        controller.enqueue(new Uint8Array(bytes.subarray(at, at + 10_000)));
      }
      controller.close();
    },
  });

const length = (bytes: number): RequestHeaders => ({
  ...JSON_TYPE,
  "content-length": String(bytes),
});

describe("64 KiB is the most", () => {
  test.each([64 * KIB, 64 * KIB + 1])("%d bytes: declared, streamed or both", async (bytes) => {
    const text = ofBytes(bytes);
    for (const [body, headers] of [
      [text, length(bytes)],
      [text, JSON_TYPE],
      [streamed(text), JSON_TYPE],
      [streamed(text), length(bytes)],
    ] as const) {
      const site = await openAppliance();
      const answer = await post(site, body, headers);
      if (bytes <= 64 * KIB) expectOk(answer);
      else expect(expectRefusal(answer, 413, "too_large")).toContain("65536");
      expect(await site.listHolders()).toEqual(bytes <= 64 * KIB ? ["ada"] : []);
    }
  });

  test("a length that was a lie does not help", async () => {
    const site = await openAppliance();
    const text = ofBytes(64 * KIB + 1);
    await expectRefusedUnchanged(site, 413, "too_large", () => post(site, text, length(10)));
  });

  test("a body without end is not read to its end", async () => {
    const site = await openAppliance();
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(KIB).fill(32));
        // Without end as far as a reader can tell; a reader with no limit must not take the machine.
        if (pulled === 1_000) controller.close();
      },
    });
    await expectRefusedUnchanged(site, 413, "too_large", () => post(site, endless));
    expect(pulled).toBeLessThan(80);
  });
});

describe("with a document in it 128 KiB is the most", () => {
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
  ])("on %s as %s", async (path, type) => {
    const site = await openAppliance();
    const send = (bytes: number) =>
      site.send("POST", path, { body: ofBytes(bytes), headers: { "content-type": type } });
    await expectRefusedUnchanged(site, 413, "too_large", () => send(128 * KIB + 1));
    const [{ status }] = await send(128 * KIB);
    expect(status).toBe(400);
  });
});
