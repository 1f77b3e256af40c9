import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { sendRaw } from "../support/raw-request.ts";

let server: ServerProcess;

beforeAll(async () => {
  server = await startBinary("demo", "--listen", "127.0.0.1:0");
});

afterAll(() => server.stop());

const sendToServer = (request: string): Promise<string> =>
  sendRaw(Number(new URL(server.url).port), request);

const makeRegisterRequest = (body: string, headers = ""): string =>
  `POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

const parseRefusal = (answer: string): unknown =>
  JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));

describe("requests no library would send", () => {
  test("a body declared too large is refused in JSON before it is sent", async () => {
    const answer = await sendToServer(makeRegisterRequest("", "Content-Length: 100000000\r\n"));
    expect(answer).toStartWith("HTTP/1.1 413 ");
    expect(parseRefusal(answer)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("a body of two gigabytes is refused in JSON", async () => {
    const answer = await sendToServer(makeRegisterRequest("", "Content-Length: 2147483648\r\n"));
    expect(parseRefusal(answer)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("a chunked body is counted as it comes", async () => {
    const chunk = "x".repeat(0x8000);
    const chunks = `8000\r\n${chunk}\r\n`.repeat(3);
    const answer = await sendToServer(
      makeRegisterRequest(`${chunks}0\r\n\r\n`, "Transfer-Encoding: chunked\r\n"),
    );
    expect(answer).toStartWith("HTTP/1.1 413 ");
    expect(parseRefusal(answer)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("a chunked body of the right size is taken", async () => {
    const body = JSON.stringify({ product: "DEMO", user: "chunked" });
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const answer = await sendToServer(
      makeRegisterRequest(chunks, "Transfer-Encoding: chunked\r\n"),
    );
    expect(answer).toStartWith("HTTP/1.1 200 ");
  });

  test("two Host headers are a wrong host", async () => {
    const answer = await sendToServer(
      "GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n",
    );
    expect(answer).toStartWith("HTTP/1.1 421 ");
    expect(parseRefusal(answer)).toMatchObject({ status: 421, code: "wrong_host" });
  });

  test.each(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])(
    "%s changes nothing",
    async (method) => {
      const answer = await sendToServer(
        `${method} /api/v4/register HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      );
      expect(answer).toMatch(/^(HTTP\/1\.1 (405|400) |$)/);
      if (answer.startsWith("HTTP/1.1 405")) {
        expect(answer.toLowerCase()).toContain("\r\nallow: post\r\n");
        expect(parseRefusal(answer)).toMatchObject({ status: 405, code: "method_not_allowed" });
      }
    },
  );

  test("HEAD has no body, and is refused where only GET is meant", async () => {
    const head = (path: string): Promise<string> =>
      sendToServer(`HEAD ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(await head("/api/v4/health")).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    expect(await head("/")).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    expect(await head("/api/v4/license")).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\n\r\n$/);
  });

  test.each(["//api/v4/health", "/API/v4/health", "/api/v4/health/", "/api/v4/%68ealth"])(
    "%s is nowhere",
    async (path) => {
      const answer = await sendToServer(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(answer).toStartWith("HTTP/1.1 404 ");
      expect(parseRefusal(answer)).toMatchObject({ status: 404, code: "not_found" });
    },
  );

  test("ten large refusals later the server is as small as before", async () => {
    const resident = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;
    const before = resident();
    const megabytes = "x".repeat(16 * 1024 * 1024);
    for (let round = 0; round < 10; round += 1) {
      const answer = await sendToServer(
        makeRegisterRequest(megabytes, `Content-Length: ${megabytes.length}\r\n`),
      );
      expect(answer === "" || answer.startsWith("HTTP/1.1 413 ")).toBe(true);
    }
    expect(resident() - before).toBeLessThan(64);
  });
});
