import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { listPathForms } from "../support/path-forms.ts";
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

/** The demo is open to administrators until it has a credential. */
async function createToken(): Promise<string> {
  const response = await fetch(`${server.url}/api/admin/v1/access/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "paths", role: "admin" }),
  });
  return ((await response.json()) as { readonly token: string }).token;
}

const parseRefusal = (reply: string): unknown =>
  JSON.parse(reply.slice(reply.indexOf("\r\n\r\n") + 4));

describe("a raw HTTP request", () => {
  test("with a declared body of 100 MB is refused in JSON before the body is sent", async () => {
    const reply = await sendToServer(makeRegisterRequest("", "Content-Length: 100000000\r\n"));
    expect(reply).toStartWith("HTTP/1.1 413 ");
    expect(parseRefusal(reply)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("with a declared body of two gigabytes is refused in JSON", async () => {
    const reply = await sendToServer(makeRegisterRequest("", "Content-Length: 2147483648\r\n"));
    expect(parseRefusal(reply)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("with a chunked body over the limit is refused in JSON", async () => {
    const chunk = "x".repeat(0x8000);
    const chunks = `8000\r\n${chunk}\r\n`.repeat(3);
    const reply = await sendToServer(
      makeRegisterRequest(`${chunks}0\r\n\r\n`, "Transfer-Encoding: chunked\r\n"),
    );
    expect(reply).toStartWith("HTTP/1.1 413 ");
    expect(parseRefusal(reply)).toMatchObject({ status: 413, code: "too_large" });
  });

  test("with a chunked body within the limit is accepted", async () => {
    const body = JSON.stringify({ product: "DEMO", user: "chunked" });
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const reply = await sendToServer(makeRegisterRequest(chunks, "Transfer-Encoding: chunked\r\n"));
    expect(reply).toStartWith("HTTP/1.1 200 ");
  });

  test("with two Host headers is refused as wrong_host", async () => {
    const reply = await sendToServer(
      "GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n",
    );
    expect(reply).toStartWith("HTTP/1.1 421 ");
    expect(parseRefusal(reply)).toMatchObject({ status: 421, code: "wrong_host" });
  });

  test.each(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])(
    "with method %s is refused",
    async (method) => {
      const reply = await sendToServer(
        `${method} /api/v4/register HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      );
      expect(reply).toMatch(/^(HTTP\/1\.1 (405|400) |$)/);
      if (reply.startsWith("HTTP/1.1 405")) {
        expect(reply.toLowerCase()).toContain("\r\nallow: post\r\n");
        expect(parseRefusal(reply)).toMatchObject({ status: 405, code: "method_not_allowed" });
      }
    },
  );

  test("with method HEAD gets no body, and 405 on a route that allows only GET", async () => {
    const head = (path: string): Promise<string> =>
      sendToServer(`HEAD ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(await head("/api/v4/health")).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    expect(await head("/")).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    expect(await head("/api/v4/license")).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\n\r\n$/);
  });

  test.each(["//api/v4/health", "/API/v4/health", "/api/v4/health/", "/api/v4/%68ealth"])(
    "with path %s gets 404",
    async (path) => {
      const reply = await sendToServer(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(reply).toStartWith("HTTP/1.1 404 ");
      expect(parseRefusal(reply)).toMatchObject({ status: 404, code: "not_found" });
    },
  );

  test("gets an administrative route in no form of its path without a credential", async () => {
    const token = await createToken();
    const findStatus = async (form: string, headers = ""): Promise<string> => {
      const reply = await sendToServer(`GET ${form} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
      return /^HTTP\/1\.1 (\d{3}) /.exec(reply)?.[1] ?? "closed";
    };
    const statuses = await Promise.all(
      listPathForms("/api/admin/v1/status").map(async (form) => ({
        form,
        open: await findStatus(form),
        admitted: await findStatus(form, `Authorization: Bearer ${token}\r\n`),
      })),
    );
    // What is the route for the router is the route for the gate too. "/?…" is the page.
    const differing = statuses.filter(
      ({ form, open, admitted }) =>
        open !== (admitted === "200" && !form.startsWith("/?") ? "401" : admitted),
    );
    expect(differing).toEqual([]);
    expect(statuses.filter(({ open }) => open === "401").length).toBeGreaterThan(30);
  });

  test("with a body of 16 MiB, refused ten times, does not increase the server's memory", async () => {
    const readResidentMiB = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;
    const before = readResidentMiB();
    const megabytes = "x".repeat(16 * 1024 * 1024);
    for (let round = 0; round < 10; round += 1) {
      const reply = await sendToServer(
        makeRegisterRequest(megabytes, `Content-Length: ${megabytes.length}\r\n`),
      );
      expect(reply === "" || reply.startsWith("HTTP/1.1 413 ")).toBe(true);
    }
    expect(readResidentMiB() - before).toBeLessThan(64);
  });
});
