// Compressed replies, as a real listener sends them.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { err, ok } from "../../src/domain/result.ts";
import { compressJson } from "../../src/http/compress.ts";
import { listen } from "../../src/http/server.ts";
import { openAppliance, OPEN_POLICY } from "../support/appliance.ts";

async function startServer(slots = 1) {
  const site = await openAppliance({
    licenses: { 1: { slots, metadata: "x".repeat(1_024) } },
  });
  const server = listen({
    services: site.services,
    host: "127.0.0.1",
    port: 0,
    policy: OPEN_POLICY,
  });
  onTestFinished(() => server.stop());
  const get = (path: string, encoding = "gzip, br"): Promise<Response> =>
    fetch(`${server.address}${path}`, {
      headers: { "accept-encoding": encoding },
      decompress: false,
    });
  return { site, server, get };
}

const REGISTRATIONS = "/api/admin/v1/registrations";

describe("a reply of the admin plane", () => {
  test("is compressed if it is large, and says the same as without compression", async () => {
    const { site, get } = await startServer(20);
    for (let user = 0; user < 20; user += 1) await site.register({ user: `user-${user}` });
    const plain = await get(REGISTRATIONS, "identity");
    const compressed = await get(REGISTRATIONS);
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    expect(compressed.headers.get("vary")).toBe("accept-encoding");
    expect(compressed.headers.get("cache-control")).toBe("no-store");
    const bytes = await compressed.bytes();
    const text = await plain.text();
    expect(gunzipSync(bytes).toString()).toBe(text);
    expect(bytes.length).toBeLessThan(text.length / 3);
  });

  test("is not compressed if it is small", async () => {
    const { get } = await startServer();
    const response = await get(REGISTRATIONS);
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(await response.text()).toBe("[]");
  });

  test("is not compressed if it is a stream", async () => {
    const { get } = await startServer();
    const response = await get("/api/admin/v1/stream");
    expect(response.headers.get("content-encoding")).toBeNull();
    await response.body?.cancel();
  });

  test("is not compressed if it has a new token", async () => {
    const { server } = await startServer();
    const response = await fetch(`${server.address}/api/admin/v1/access/tokens`, {
      method: "POST",
      headers: { "accept-encoding": "gzip", "content-type": "application/json" },
      body: '{"name":"me","role":"admin"}',
      decompress: false,
    });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(await response.json()).toMatchObject({ token: expect.stringMatching(/^berth_/) });
  });
});

describe("a long list, which is made while it is sent,", () => {
  const info = "x".repeat(4_000);

  test("is compressed, and says the same as without compression", async () => {
    const { site, get } = await startServer(40);
    for (let user = 0; user < 40; user += 1)
      await site.register({ user: `user-${user}`, user_info: info });
    const compressed = await get(REGISTRATIONS);
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    expect(compressed.headers.get("vary")).toBe("accept-encoding");
    expect(compressed.headers.get("cache-control")).toBe("no-store");
    const plain = await (await get(REGISTRATIONS, "identity")).text();
    expect(plain.length).toBeGreaterThan(150_000);
    expect(gunzipSync(await compressed.bytes()).toString()).toBe(plain);
  });

  test.each(["gzip", "identity"])(
    "does not end with %s if it cannot be completed",
    async (encoding) => {
      const { site, get } = await startServer();
      spyOn(site.services.slots, "listInSteps").mockImplementation(async function* () {
        yield ok(Array.from({ length: 20 }, () => JSON.stringify(info)) as never[]);
        await Bun.sleep(10);
        yield err({ code: "storage_failed" });
      });
      const cut = get(REGISTRATIONS, encoding).then((response) => response.bytes());
      expect(cut).rejects.toThrow("closed unexpectedly");
    },
  );
});

test("a reply to an application is not compressed, although it is large", async () => {
  const { get } = await startServer();
  const response = await get("/api/v4/license");
  expect(response.headers.get("content-encoding")).toBeNull();
  expect((await response.text()).length).toBeGreaterThan(1_024);
});

test("the OpenAPI document is compressed", async () => {
  const { get } = await startServer();
  const [plain, compressed] = [
    await get("/api/v4/openapi.json", "identity"),
    await get("/api/v4/openapi.json"),
  ];
  expect(compressed.headers.get("content-encoding")).toBe("gzip");
  expect(gunzipSync(await compressed.bytes()).toString()).toBe(await plain.text());
});

test("other work goes on while a large reply is compressed", async () => {
  const large = JSON.stringify(Array.from({ length: 60_000 }, () => crypto.randomUUID()));
  expect(large.length).toBeGreaterThan(2_000_000);
  const reply = compressJson(
    new Request("http://appliance/"),
    new Response(large, { headers: { "content-type": "application/json" } }),
  );
  let isDone = false;
  let turns = 0;
  const countTurns = (): void => {
    turns += 1;
    if (!isDone) setImmediate(countTurns);
  };
  countTurns();
  const response = await reply;
  isDone = true;
  expect(response.headers.get("content-encoding")).toBe("gzip");
  // Compressed in the event loop, it would be done after two or three turns.
  expect(turns).toBeGreaterThan(20);
});
