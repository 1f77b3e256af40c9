import { describe, expect, test } from "bun:test";
import {
  expectLogLines,
  basicAuthHeader,
  bearerHeader,
  RunningSite,
  PASSWORD,
} from "../support/running-site.ts";
import { sendRaw } from "../support/raw-request.ts";
import { waitUntil } from "../support/wait-until.ts";

const STATUS = "/api/admin/v1/status";

describe("the default log", () => {
  test("contains admin actions, logins and refused requests, and no ordinary requests", async () => {
    const site = await RunningSite.open();
    await site.get("/api/v4/health");
    await site.get(STATUS);
    await site.post("/api/v4/register", { user: "ada" });
    await site.get("/nowhere");
    await site.post("/api/v4/license/generate", {});
    await site.runCommand(["admin", "password"], PASSWORD);
    await site.get("/auth", basicAuthHeader("admin", PASSWORD));
    await site.get("/auth", basicAuthHeader("admin", "guess"));
    await site.get(STATUS);
    await site.get(STATUS, { origin: "http://evil.example" });
    await site.get(STATUS, { host: "evil.example" });
    const lines = await site.waitForLogLines(7, ["/api/v4/health", "/api/v4/register", "/nowhere"]);
    const path = "/api/admin/v1/access/users";
    expectLogLines(lines, [
      {
        message: "admin action",
        method: "POST",
        path: "/api/v4/license/generate",
        status: 200,
      },
      { message: "admin action", path, peer: "socket" },
      {
        message: "login",
        path: "/auth",
        status: 200,
        actor: "admin",
        peer: "127.0.0.1",
      },
      { message: "request refused", path: "/auth", status: 401 },
      { message: "request refused", path: STATUS, status: 401 },
      { message: "request refused", path: STATUS, status: 403, peer: "127.0.0.1" },
      { message: "request refused", path: STATUS, status: 421, peer: "127.0.0.1" },
    ]);
  });

  test("contains at most ten refused requests a second, and the number of suppressed lines", async () => {
    const site = await RunningSite.open();
    await site.createToken();
    const refusedRequests = 300;
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: refusedRequests }, () => site.get(STATUS)));
    await Bun.sleep(1_000);
    await site.get(STATUS);
    const lines = (): string[] => site.server.stderr().match(/^.*"request refused".*$/gm) ?? [];
    const parseSuppressed = (line: string): number =>
      Number(/"suppressed":(\d+)/.exec(line)?.[1] ?? 0);
    const countReported = () => lines().reduce((sum, line) => sum + 1 + parseSuppressed(line), 0);
    await waitUntil(
      () => countReported() >= refusedRequests + 1,
      "every refused request is logged or counted",
    );
    expect(countReported()).toBe(refusedRequests + 1);
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
    expect(lines().length).toBeLessThanOrEqual(10 * (seconds + 1));
  });
});

describe("the log with --log requests", () => {
  test("has one line for each request, with method, path, status, peer and duration", async () => {
    const site = await RunningSite.open(["--log", "requests"]);
    const reply = await site.get("/api/v4/health");
    await site.get("/nowhere");
    await site.post("/api/v4/register", {});
    const lines = await site.waitForLogLines(3);
    expect(lines).toMatchObject([
      { message: "request", method: "GET", path: "/api/v4/health", status: 200 },
      { method: "GET", path: "/nowhere", status: 404 },
      { method: "POST", path: "/api/v4/register", status: 400 },
    ]);
    for (const line of lines) {
      expect(line["peer"]).toBe("127.0.0.1");
      expect(line["duration_ms"]).toBeNumber();
      expect(line["time"]).toMatch(/^\d{4}-\d\d-\d\dT/);
    }
    expect(lines[0]?.["request_id"]).toBe(reply.headers.get("x-request-id") ?? "");
  });

  test("contains no query, body, header or token", async () => {
    const site = await RunningSite.open(["--log", "requests"]);
    const canary = () => `canary-${crypto.randomUUID()}`;
    const secrets = Array.from({ length: 6 }, canary);
    const [query, body, token, name, cookie, agent] = secrets as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const headers = { ...bearerHeader(token), cookie, "user-agent": agent };
    await site.get(`/api/v4/setKeys?apiKey=${query}`, headers);
    await site.get(`/nowhere?${query}`, headers);
    await site.post("/api/v4/setKeys", { apiKey: body, sharedKey: [body] });
    await site.get("/auth", basicAuthHeader(name, body));
    await site.waitForLogLines(4);
    expect(secrets.filter((secret) => site.server.stderr().includes(secret))).toEqual([]);
  });

  test("has valid JSON lines of at most 8 KiB without control characters, whatever is sent", async () => {
    const site = await RunningSite.open(["--log", "requests"]);
    const before = site.server.stderr();
    const paths = ["/\u2028\u202eabc", "/a\u0007\u001b[31mb", `/${"x".repeat(15_000)}`, "/%0a%0d"];
    for (const path of paths) {
      await sendRaw(Number(site.port), `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    }
    await sendRaw(
      Number(site.port),
      `GET /${"y".repeat(60_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    await sendRaw(
      Number(site.port),
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"z".repeat(60_000)}\r\n\r\n`,
    );
    await site.get("/api/v4/health");
    await site.waitForStderr("/api/v4/health");
    const log = site.server.stderr().slice(before.length);
    // eslint-disable-next-line no-control-regex
    expect(log).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
    for (const line of log.trimEnd().split("\n")) {
      if (line.startsWith("berth:")) continue;
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8 * 1024);
      expect(() => JSON.parse(line)).not.toThrow();
    }
  });
});
