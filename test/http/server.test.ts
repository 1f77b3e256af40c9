// What only a real listener shows: the bytes on the wire and the address of the peer.
import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listen, listenOnSocket } from "../../src/http/server.ts";
import { createNetworkMatcher } from "../../src/platform/network/networks.ts";
import { errorCode } from "../../src/platform/files/system-error.ts";
import { expectOk, openAppliance, OPEN_POLICY, type Appliance } from "../support/appliance.ts";
import { sendRaw } from "../support/raw-request.ts";

async function startServer(networks = ["127.0.0.0/8"], adminOpen = false) {
  const site = await openAppliance();
  const { services } = site;
  const isClient = createNetworkMatcher(networks);
  const policy = { ...OPEN_POLICY, isClient, adminOpen };
  const server = listen({ services, host: "127.0.0.1", port: 0, policy });
  onTestFinished(() => server.stop());
  return { site, server, port: Number(new URL(server.address).port) };
}

const JSON_TYPE = { "content-type": "application/json" };

const post = (address: string, path: string, body: string | ReadableStream, headers = JSON_TYPE) =>
  fetch(`${address}/api/v4/${path}`, { method: "POST", body, headers });

describe("the reply is text/plain for", () => {
  test.each(["unregister", "featureRelease", "feature_release"])("%s", async (path) => {
    const { site, server } = await startServer();
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
    const response = await post(
      server.address,
      path,
      JSON.stringify({ user: "ada", feature: "view" }),
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/plain");
    expect(await response.text()).toMatch(/^(?:user_unregistered|feature_released)$/);
  });
});

test("the peer of a registration is the address of the connection", async () => {
  const { site, server } = await startServer();
  expect((await post(server.address, "register", '{"user":"ada"}')).status).toBe(200);
  const [registration] = expectOk(await site.registrations());
  expect(registration?.peer).toBe("127.0.0.1");
});

test("an application outside the client networks is refused", async () => {
  const { server } = await startServer(["10.0.0.0/8"]);
  const response = await fetch(`${server.address}/api/v4/license`);
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ code: "forbidden" });
});

test("administration is allowed from this machine, and through a proxy only on a demo", async () => {
  const proxied = { headers: { "x-forwarded-for": "10.0.0.1" } };
  const { server } = await startServer();
  const status = `${server.address}/api/admin/v1/status`;
  expect((await fetch(status)).status).toBe(200);
  expect((await fetch(status, proxied)).status).toBe(401);
  const demo = await startServer(["127.0.0.0/8"], true);
  expect((await fetch(`${demo.server.address}/api/admin/v1/status`, proxied)).status).toBe(200);
});

const sendLines = async (...lines: string[]): Promise<string> => {
  const { port } = await startServer();
  return sendRaw(port, [...lines, "connection: close", "", ""].join("\r\n"));
};

describe("a raw HTTP request", () => {
  test("with two Host headers is refused with 421 or 400", async () => {
    const reply = await sendLines(
      "GET /api/v4/health HTTP/1.1",
      "Host: 127.0.0.1",
      "Host: 127.0.0.1",
    );
    expect(reply).toMatch(/^HTTP\/1\.1 (?:400|421) /);
  });

  test("without a Host header is refused", async () => {
    expect(await sendLines("GET /api/v4/health HTTP/1.1")).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  test.each(["FOO", "PROPFIND", "CONNECT"])(
    "with the method %s does not succeed",
    async (method) => {
      const reply = await sendLines(`${method} /api/v4/unregister/all HTTP/1.1`, "Host: 127.0.0.1");
      expect(reply).not.toMatch(/^HTTP\/1\.1 [23]/);
    },
  );

  test.each(["//", "//api/v4/health", "/api/v4/../v4/health/", "/API/"])(
    "for the path %s gets 404 in JSON",
    async (path) => {
      const reply = await sendLines(`GET ${path} HTTP/1.1`, "Host: 127.0.0.1");
      expect(reply).toStartWith("HTTP/1.1 404 ");
      expect(reply).toContain('"code":"not_found"');
    },
  );

  test("with a short host name is served", async () => {
    const reply = await sendLines("GET /api/v4/health HTTP/1.1", "Host: srv");
    expect(reply).toStartWith("HTTP/1.1 200 ");
  });

  test("with HEAD gets the headers and no body", async () => {
    const reply = await sendLines("HEAD /api/v4/health HTTP/1.1", "Host: 127.0.0.1");
    expect(reply).toStartWith("HTTP/1.1 200 ");
    expect(reply).toEndWith("\r\n\r\n");
    expect(reply.toLowerCase()).toContain("cache-control: no-store");
  });
});

const bodyOfSize = (bytes: number): string => {
  const empty = JSON.stringify({ user: "ada", x: "" });
  return JSON.stringify({ user: "ada", x: "y".repeat(bytes - empty.length) });
};

const toStream = (text: string): ReadableStream =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });

describe("a request body over a real connection", () => {
  test.each([
    [65_536, 200],
    [65_537, 413],
    [100_000, 413],
  ])("of %d bytes gets %d, with a length or in chunks", async (bytes, status) => {
    const { server } = await startServer();
    for (const body of [bodyOfSize(bytes), toStream(bodyOfSize(bytes))]) {
      const response = await post(server.address, "register", body);
      expect(response.status).toBe(status);
      const { code } = (await response.json()) as { code?: string };
      expect(code).toBe(status === 200 ? undefined : "too_large");
    }
  });
});

test("a second listener on the same port fails with EADDRINUSE", async () => {
  const { site, port } = await startServer();
  const { services } = site;
  const listenAgain = () => listen({ services, host: "127.0.0.1", port, policy: OPEN_POLICY });
  let code: string | null = null;
  try {
    listenAgain();
  } catch (error) {
    code = errorCode(error);
  }
  expect(code).toBe("EADDRINUSE");
});

test("stopping a server lets a running request finish and accepts no other", async () => {
  const site = await openAppliance();
  const [arrived, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const isClient = (): boolean => {
    arrived.resolve();
    return true;
  };
  const policy = { ...OPEN_POLICY, isClient };
  const server = listen({ services: site.services, host: "127.0.0.1", port: 0, policy });
  onTestFinished(() => server.stop());
  const slow = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode('{"user":'));
      await stopping.promise;
      controller.enqueue(new TextEncoder().encode('"ada"}'));
      controller.close();
    },
  });
  const reply = post(server.address, "register", slow);
  await arrived.promise;
  const stopped = server.stop();
  stopping.resolve();
  expect((await reply).status).toBe(200);
  await stopped;
  expect(await site.listHolders()).toEqual(["ada"]);
  const outcome = await fetch(server.address).then(
    () => "answered",
    () => "refused",
  );
  expect(outcome).toBe("refused");
});

const openSocket = (site: Appliance, path: string) => {
  const socket = listenOnSocket(site.services, path, "default");
  onTestFinished(() => socket.stop());
  return socket;
};

describe("the local socket", () => {
  test("has mode 600, grants administration, and is removed when it stops", async () => {
    const site = await openAppliance();
    const unix = join(site.folder, "berth.sock");
    const socket = openSocket(site, unix);
    expect((statSync(unix).mode & 0o777).toString(8)).toBe("600");
    const response = await fetch("http://berth/api/admin/v1/status", { unix });
    expect(response.status).toBe(200);
    await socket.stop();
    expect(existsSync(unix)).toBe(false);
  });

  test("replaces a file that a killed server left behind", async () => {
    const site = await openAppliance();
    const unix = join(site.folder, "berth.sock");
    writeFileSync(unix, "");
    openSocket(site, unix);
    expect((await fetch("http://berth/api/v4/health", { unix })).status).toBe(200);
  });
});

describe("requests that are sent before the reply to the one before them", () => {
  const count =
    "POST /api/v4/add_consumption HTTP/1.1\r\nHost: localhost\r\n" +
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

  test.each([
    ["another request", count],
    ["a line break", "\r\n"],
    ["bytes that are not HTTP", "\u0000\u0001 x\r\n\r\n"],
  ])("change nothing, since the connection ends without a reply: %s", async (_name, rest) => {
    const { site, port } = await startServer();
    const reply = await sendRaw(port, count + rest);
    expect(reply.replace("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "")).toBe("");
    expect(expectOk(await site.addConsumption({})).total_consumptions).toBe(1);
  });
});
