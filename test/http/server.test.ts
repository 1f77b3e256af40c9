// What only a real listener shows: the bytes on the wire, and who is at the other end.
import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listen, listenOnSocket, type AccessPolicy } from "../../src/http/server.ts";
import { createNetworkMatcher } from "../../src/platform/networks.ts";
import { errorCode } from "../../src/platform/disk.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import { sendRaw } from "../support/raw-request.ts";

const POLICY: AccessPolicy = {
  isClient: () => true,
  isAdmin: () => true,
  clientAuth: "open",
  adminOpen: false,
  allowPlain: false,
  serverNames: [],
  logMode: "default",
};

async function listening(networks = ["127.0.0.0/8"], adminOpen = false) {
  const site = await openAppliance();
  const { services } = site;
  const isClient = createNetworkMatcher(networks);
  const policy = { ...POLICY, isClient, adminOpen };
  const server = listen({ services, host: "127.0.0.1", port: 0, policy });
  onTestFinished(() => server.stop());
  return { site, server, port: Number(new URL(server.address).port) };
}

const JSON_TYPE = { "content-type": "application/json" };

const post = (address: string, path: string, body: string | ReadableStream, headers = JSON_TYPE) =>
  fetch(`${address}/api/v4/${path}`, { method: "POST", body, headers });

describe("the two text replies are text/plain", () => {
  test.each(["unregister", "featureRelease", "feature_release"])("%s", async (path) => {
    const { site, server } = await listening();
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

test("the peer is the socket's, and is what events record", async () => {
  const { site, server } = await listening();
  expect((await post(server.address, "register", '{"user":"ada"}')).status).toBe(200);
  const [held] = expectOk(await site.registrations());
  expect(held?.peer).toBe("127.0.0.1");
});

test("a peer outside the networks is kept out", async () => {
  const { server } = await listening(["10.0.0.0/8"]);
  const response = await fetch(`${server.address}/api/v4/health`);
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ code: "forbidden" });
});

test("administration is for this machine, and not through a proxy unless it is a demo", async () => {
  const proxied = { headers: { "x-forwarded-for": "10.0.0.1" } };
  const { server } = await listening();
  const status = `${server.address}/api/admin/v1/status`;
  expect((await fetch(status)).status).toBe(200);
  expect((await fetch(status, proxied)).status).toBe(401);
  const demo = await listening(["127.0.0.0/8"], true);
  expect((await fetch(`${demo.server.address}/api/admin/v1/status`, proxied)).status).toBe(200);
});

const ask = async (...lines: string[]): Promise<string> => {
  const { port } = await listening();
  return sendRaw(port, [...lines, "connection: close", "", ""].join("\r\n"));
};

describe("on the wire", () => {
  test("two Host headers are 421, or not even a request", async () => {
    const heard = await ask("GET /api/v4/health HTTP/1.1", "Host: 127.0.0.1", "Host: 127.0.0.1");
    expect(heard).toMatch(/^HTTP\/1\.1 (?:400|421) /);
  });

  test("no Host header is no request for us", async () => {
    expect(await ask("GET /api/v4/health HTTP/1.1")).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  test.each(["FOO", "PROPFIND", "CONNECT"])("method %s does nothing", async (method) => {
    const heard = await ask(`${method} /api/v4/unregister/all HTTP/1.1`, "Host: 127.0.0.1");
    expect(heard).not.toMatch(/^HTTP\/1\.1 [23]/);
  });

  test.each(["//", "//api/v4/health", "/api/v4/../v4/health/", "/API/"])(
    "the path %s is 404 in JSON",
    async (path) => {
      const heard = await ask(`GET ${path} HTTP/1.1`, "Host: 127.0.0.1");
      expect(heard).toStartWith("HTTP/1.1 404 ");
      expect(heard).toContain('"code":"not_found"');
    },
  );

  test("a short name is as good as a long one", async () => {
    const heard = await ask("GET /api/v4/health HTTP/1.1", "Host: srv");
    expect(heard).toStartWith("HTTP/1.1 200 ");
  });

  test("HEAD has the headers and nothing after them", async () => {
    const heard = await ask("HEAD /api/v4/health HTTP/1.1", "Host: 127.0.0.1");
    expect(heard).toStartWith("HTTP/1.1 200 ");
    expect(heard).toEndWith("\r\n\r\n");
    expect(heard.toLowerCase()).toContain("cache-control: no-store");
  });
});

const body = (bytes: number): string => {
  const empty = JSON.stringify({ user: "ada", x: "" });
  return JSON.stringify({ user: "ada", x: "y".repeat(bytes - empty.length) });
};

const chunked = (text: string): ReadableStream =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });

describe("64 KiB is the most", () => {
  test.each([
    [65_536, 200],
    [65_537, 413],
    [100_000, 413],
  ])("%d bytes are answered %d, with a length or in chunks", async (bytes, status) => {
    const { server } = await listening();
    for (const sent of [body(bytes), chunked(body(bytes))]) {
      const response = await post(server.address, "register", sent);
      expect(response.status).toBe(status);
      const { code } = (await response.json()) as { code?: string };
      expect(code).toBe(status === 200 ? undefined : "too_large");
    }
  });
});

test("a port that is taken is not shared", async () => {
  const { site, port } = await listening();
  const { services } = site;
  const again = () => listen({ services, host: "127.0.0.1", port, policy: POLICY });
  let code: string | null = null;
  try {
    again();
  } catch (error) {
    code = errorCode(error);
  }
  expect(code).toBe("EADDRINUSE");
});

test("stopping lets a request under way finish, and takes no other", async () => {
  const site = await openAppliance();
  const [arrived, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const isClient = (): boolean => {
    arrived.resolve();
    return true;
  };
  const policy = { ...POLICY, isClient };
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
  const asked = post(server.address, "register", slow);
  await arrived.promise;
  const stopped = server.stop();
  stopping.resolve();
  expect((await asked).status).toBe(200);
  await stopped;
  expect(await site.listHolders()).toEqual(["ada"]);
  const refused = await fetch(server.address).then(
    () => "answered",
    () => "refused",
  );
  expect(refused).toBe("refused");
});

const openSocket = (site: Appliance, path: string) => {
  const socket = listenOnSocket(site.services, path, "default");
  onTestFinished(() => socket.stop());
  return socket;
};

describe("the socket", () => {
  test("is for its owner alone, administers, and is gone at the end", async () => {
    const site = await openAppliance();
    const unix = join(site.folder, "berth.sock");
    const socket = openSocket(site, unix);
    expect((statSync(unix).mode & 0o777).toString(8)).toBe("600");
    const response = await fetch("http://berth/api/admin/v1/status", { unix });
    expect(response.status).toBe(200);
    await socket.stop();
    expect(existsSync(unix)).toBe(false);
  });

  test("replaces what a killed server left behind", async () => {
    const site = await openAppliance();
    const unix = join(site.folder, "berth.sock");
    writeFileSync(unix, "");
    openSocket(site, unix);
    expect((await fetch("http://berth/api/v4/health", { unix })).status).toBe(200);
  });
});
