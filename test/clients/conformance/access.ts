// Scenarios: servers that require a login, TLS or a client certificate.
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { runBinary, type ServerProcess } from "../../support/binary.ts";
import { PASSWORD } from "../../support/running-site.ts";
import { makeTempFolder } from "../../support/suite-harness.ts";
import { openUnusableTlsServers } from "../../support/unusable-tls-servers.ts";
import type { ClientOptions } from "./protocol.ts";
import { makeSiteFolder, serveFolder } from "./site.ts";
import type { Scenario, World } from "./world.ts";

interface AccessServers {
  /** With `client_auth = "login"`, over plain HTTP and TLS. */
  readonly login: { readonly url: string; readonly tlsUrl: string; readonly ca: string };
  /** With `client_auth = "mtls"`. */
  readonly mtls: { readonly tlsUrl: string; readonly ca: string; readonly certificate: string };
}

const ACCESS_PRODUCT = "ACCESS";

/** Many slots, because the scenarios of all clients share them. */
const PRODUCTS = { [ACCESS_PRODUCT]: { slots: 1_000 } };

async function run(folder: string, args: readonly string[], input = ""): Promise<void> {
  const { code, stderr } = await runBinary([...args, "--data", folder], input);
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
}

const findTlsUrl = ({ output }: ServerProcess): string =>
  /https:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? "";

const TLS = ["--listen-tls", "127.0.0.1:0"];

async function startLoginServer(): Promise<AccessServers["login"]> {
  const folder = await makeSiteFolder(PRODUCTS);
  await run(folder, ["tls", "init", "--names", "localhost"]);
  await run(folder, ["admin", "user", "add", "ada", "--role", "user"], `${PASSWORD}\n`);
  const server = await serveFolder(folder, ...TLS, "--client-auth", "login");
  const { origin } = new URL(/http:\/\/[^\s,]+/.exec(server.output)?.[0] ?? "");
  return { url: origin, tlsUrl: findTlsUrl(server), ca: join(folder, "tls", "ca.pem") };
}

async function startMtlsServer(): Promise<AccessServers["mtls"]> {
  const folder = await makeSiteFolder(PRODUCTS);
  await run(folder, ["tls", "init", "--names", "localhost"]);
  const certificate = join(folder, "..", "ws-17.pem");
  await run(folder, ["tls", "client", "--name", "ws-17", "--out", certificate]);
  const ca = join(folder, "tls", "ca.pem");
  const server = await serveFolder(folder, ...TLS, "--client-auth", "mtls", "--client-ca", ca);
  return { tlsUrl: findTlsUrl(server), ca, certificate };
}

let started: Promise<AccessServers> | null = null;

/** The servers are started once, by the first scenario that needs them. */
function startServers(): Promise<AccessServers> {
  started ??= (async () => {
    const [login, mtls] = await Promise.all([startLoginServer(), startMtlsServer()]);
    return { login, mtls };
  })();
  return started;
}

/** Also an address of this machine, but the certificate of a server does not name it. */
const FOREIGN_ADDRESS = "127.0.0.2";

/** Forwards connections to another address of this machine to a port of 127.0.0.1. */
async function forwardFrom(address: string, targetPort: number) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const target = connect(targetPort, "127.0.0.1");
    // Either side may close its connection at any time.
    for (const each of [socket, target]) each.on("error", () => {});
    socket.pipe(target).pipe(socket);
    sockets.push(socket, target);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, address, resolve);
  await promise;
  return {
    port: (server.address() as AddressInfo).port,
    countConnections: () => sockets.length / 2,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const LOGIN = { name: "ada", password: PASSWORD };

/** Names of a login may have an instance after `#`. */
const userOf = (world: World): string => `ada#${world.client}-${(lastUser += 1)}`;
let lastUser = 0;

async function expectSlot(
  world: World,
  urls: string | readonly string[],
  options: ClientOptions,
): Promise<void> {
  const client = await world.connect(urls, options);
  const slot = await client.acquire(userOf(world));
  expect([await slot.isHeld(), await slot.release()]).toEqual([true, true]);
}

const EXPIRED = {
  status: 401,
  headers: { "www-authenticate": "Bearer" },
  body: { status: 401, code: "unauthorized", message: "the token has expired" },
};

/** The error of a client that refuses a server, or is refused, by TLS. */
const TLS_FAULT = { kind: "TlsFailed", code: "tls_failed" };

const SCENARIOS: readonly Scenario[] = [
  {
    title: "logs in once for many calls",
    async run(world) {
      const proxy = await world.openProxy((await startServers()).login.url);
      const client = await world.connect(proxy.url, { login: LOGIN });
      const slot = await client.acquire(userOf(world));
      await client.consume();
      expect(await slot.release()).toBe(true);
      expect(proxy.count("auth")).toBe(1);
      const [auth, register] = proxy.requests;
      expect(auth?.headers["authorization"]).toStartWith("Basic ");
      expect(register?.headers["authorization"]).toStartWith("Bearer ");
      expect(proxy.requests.map(({ path }) => path)).not.toContain(PASSWORD);
    },
  },
  {
    title: "logs in again when its token has expired",
    async run(world) {
      const proxy = await world.openProxy((await startServers()).login.url);
      const client = await world.connect(proxy.url, { login: LOGIN });
      await client.consume();
      proxy.answer("register", EXPIRED, 1);
      expect(await (await client.acquire(userOf(world))).isHeld()).toBe(true);
      expect(proxy.count("auth")).toBe(2);
    },
  },
  {
    title: "is refused after one new login if the server accepts no token",
    async run(world) {
      const proxy = await world.openProxy((await startServers()).login.url);
      const client = await world.connect(proxy.url, { login: LOGIN });
      await client.consume();
      proxy.answer("register", EXPIRED);
      const error = await client.acquireError(userOf(world));
      expect(error).toMatchObject({ kind: "AccessDenied", code: "unauthorized", status: 401 });
      expect([proxy.count("auth"), proxy.count("register")]).toEqual([2, 2]);
    },
  },
  {
    title: "keeps its slot over an expired token",
    async run(world) {
      const proxy = await world.openProxy((await startServers()).login.url);
      proxy.shortenTimeout(6);
      const client = await world.connect(proxy.url, { login: LOGIN });
      const slot = await client.acquire(userOf(world));
      proxy.answer("register", EXPIRED, 1);
      await client.waitForRequestsOrLoss(proxy, "register", 4);
      expect(client.driver.events).toEqual([]);
      expect(proxy.count("auth")).toBe(2);
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "a login that cannot be reached is repeated",
    async run(world) {
      const proxy = await world.openProxy((await startServers()).login.url);
      proxy.fail("auth", { kind: "cut before" }, 1);
      proxy.fail("auth", { kind: "cut body" }, 1);
      const client = await world.connect(proxy.url, { login: LOGIN });
      expect(await (await client.acquire(userOf(world))).isHeld()).toBe(true);
    },
  },
  {
    title: "is denied with a wrong password, and shows it in no message",
    async run(world) {
      const { login } = await startServers();
      // Answered by the proxy: the server stops answering after too many wrong passwords.
      const proxy = await world.openProxy(login.url);
      const body = { status: 401, code: "unauthorized", message: "wrong name or password" };
      proxy.answer("auth", { status: 401, headers: { "www-authenticate": "Basic" }, body });
      const password = "hunter2-is-secret";
      const client = await world.connect(proxy.url, { login: { name: "ada", password } });
      const error = await client.acquireError(userOf(world));
      expect(error).toMatchObject({ kind: "AccessDenied", code: "unauthorized" });
      expect(error.message).not.toContain(password);
      expect(client.driver.stderr).toBe("");
    },
  },
  {
    title: "is denied without a login, and for another user",
    async run(world) {
      const { login } = await startServers();
      const without = await world.connect(login.url);
      const error = await without.acquireError(userOf(world));
      expect(error).toMatchObject({ kind: "AccessDenied", code: "unauthorized" });
      const client = await world.connect(login.url, { login: LOGIN });
      expect(await client.acquireError("bob")).toMatchObject({
        kind: "AccessDenied",
        code: "forbidden",
      });
    },
  },
  {
    title: "trusts the CA that is given",
    async run(world) {
      const { tlsUrl, ca } = (await startServers()).login;
      await expectSlot(world, tlsUrl, { ca, login: LOGIN });
      await expectSlot(world, tlsUrl.replace("127.0.0.1", "localhost"), { ca, login: LOGIN });
    },
  },
  {
    title: "refuses a server whose certificate another CA signed, and sends it nothing",
    async run(world) {
      const { login, mtls } = await startServers();
      for (const options of [{ ca: mtls.ca }, {}]) {
        const client = await world.connectForOneRound(login.tlsUrl, { ...options, login: LOGIN });
        const error = await client.acquireError(userOf(world));
        expect(error).toMatchObject(TLS_FAULT);
        expect(error.message).toMatch(/certificate|issuer|CA/i);
        expect(error.message).toContain("give the CA of the site with the option ca");
      }
    },
  },
  {
    title: "refuses a certificate for another host name",
    async run(world) {
      const { tlsUrl, ca } = (await startServers()).login;
      const forward = await forwardFrom(FOREIGN_ADDRESS, Number(new URL(tlsUrl).port));
      world.atEnd(forward.close);
      const url = `https://${FOREIGN_ADDRESS}:${forward.port}`;
      const client = await world.connectForOneRound(url, { ca, login: LOGIN });
      expect(await client.acquireError(userOf(world))).toMatchObject(TLS_FAULT);
      expect(forward.countConnections()).toBe(1);
    },
  },
  {
    title: "shows its client certificate",
    async run(world) {
      const { tlsUrl, ca, certificate } = (await startServers()).mtls;
      await expectSlot(world, tlsUrl, { ca, certificate });
      const without = await world.connectForOneRound(tlsUrl, { ca });
      expect(await without.acquireError(userOf(world))).toMatchObject(TLS_FAULT);
    },
  },
  {
    title: "says why a server cannot be used by TLS, and does not repeat the call",
    async run(world) {
      const servers = await openUnusableTlsServers((cleanup) => world.atEnd(cleanup));
      const driver = world.startDriver();
      for (const [name, { url, ca, countConnections }] of Object.entries(servers)) {
        const client = await world.connect(url, { ca: writeCa(ca) }, driver);
        const { kind, code, message } = await client.consumeError();
        expect([name, kind, code]).toEqual([name, "TlsFailed", "tls_failed"]);
        expect(message).toContain(TLS_HINTS[name] ?? "no hint is known");
        expect(message).toEndWith("nothing was sent, so nothing was counted");
        expect(message).not.toContain("no server answered");
        expect([name, countConnections()]).toEqual([name, 1]);
      }
    },
  },
  {
    title: "repeats a call at the other host while one cannot be used by TLS",
    async run(world) {
      const { expired } = await openUnusableTlsServers((cleanup) => world.atEnd(cleanup));
      const { login } = await startServers();
      const proxy = await world.openProxy(login.url);
      proxy.fail("auth", { kind: "cut before" }, 2);
      const options = { ca: writeCa(expired?.ca ?? ""), login: LOGIN };
      const client = await world.connect([expired?.url ?? "", proxy.url], options);
      expect(await (await client.acquire(userOf(world))).isHeld()).toBe(true);
      expect(expired?.countConnections()).toBe(1);
    },
  },
];

/** Writes a certificate to a file: the client for C takes no text. */
function writeCa(text: string): string {
  const path = join(makeTempFolder(), "ca.pem");
  writeFileSync(path, text);
  return path;
}

/** The end of the message, for each fault. */
const TLS_HINTS: Readonly<Record<string, string>> = {
  untrusted: "; give the CA of the site with the option ca",
  expired: "; renew it on the server with berth tls init",
  "not yet valid": "; check the clocks of this machine and of the server",
  "for another name": "; use a name of the server that is in its certificate",
  "of a client": "; check its TLS settings",
  "without TLS": "; check that the address is the TLS address",
};

export const accessScenarios = SCENARIOS.map((scenario) => ({
  ...scenario,
  product: ACCESS_PRODUCT,
}));
