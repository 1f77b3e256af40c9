// Scenarios: what a client refuses before it makes a call, and what it does not take from its
// environment.
import { expect } from "bun:test";
import { join } from "node:path";
import type { AcquireOptions, ClientOptions, ConsumeOptions } from "./protocol.ts";
import type { Scenario } from "./world.ts";

const INVALID = { kind: "InvalidArgument", code: "invalid_argument" };

interface ClientCase extends ClientOptions {
  readonly urls?: readonly string[];
  readonly product?: string;
}

const MISSING_FILE = join(import.meta.dir, "no-such-file.pem");

const INVALID_CLIENTS: readonly ClientCase[] = [
  { urls: [] },
  { urls: [""] },
  { urls: ["127.0.0.1:8080"] },
  { urls: ["ftp://127.0.0.1:8080"] },
  { urls: ["http://"] },
  { urls: ["http:///path"] },
  { urls: ["http://ada:secret@127.0.0.1:8080"] },
  { urls: ["http://127.0.0.1:8080?product=CAD"] },
  { urls: ["http://127.0.0.1:8080", "nonsense"] },
  { urls: ["http://127.0.0.1:8080", ""] },
  { urls: ["", "http://127.0.0.1:8080"] },
  { urls: ["http://127.0.0.1:99999"] },
  { urls: ["http://127.0.0.1:8080x"] },
  { product: "" },
  { timeout: 0 },
  { timeout: -1 },
  { nonce: "short" },
  { nonce: "x".repeat(129) },
  { nonce: "0123456789 abcdef" },
  { nonce: "0123456789\nabcdef" },
  { ca: MISSING_FILE },
  { certificate: MISSING_FILE },
  { root_keys: ["not a key"] },
  { root_keys: ["x".repeat(42)] },
  // A key of low order: one signature fits every text.
  { root_keys: [`AQ${"A".repeat(41)}`] },
  { retired: ["not a key"] },
];

const PLAIN_TO_OTHERS: readonly (readonly string[])[] = [
  ["http://berth.example:8080"],
  ["http://127.0.0.1.example"],
  ["http://localhost.example:8080"],
  ["http://localhos"],
  ["http://128.0.0.1:8080"],
  ["http://[fd00::1]:8080"],
  ["https://license-1.example:8443", "http://license-2.example:8080"],
];

/** TLS, and addresses of the machine itself. */
const NOT_READABLE = [
  "https://berth.example:8443",
  "http://localhost:8080",
  "http://127.0.0.1:8080",
  "http://127.8.9.1",
  "http://[::1]:8080",
  "http://LocalHost/path",
];

const INVALID_CALLS: readonly ConsumeOptions[] = [
  { key: "" },
  { key: "k".repeat(65) },
  { key: "two words" },
  { key: "line\nbreak" },
];

const INVALID_WAITS: readonly AcquireOptions[] = [{ wait: -1 }];

/** Variables by which programs choose a proxy. */
const PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"];

export const argumentScenarios: readonly Scenario[] = [
  {
    title: "refuses wrong arguments of a client",
    async run(world) {
      const driver = world.startDriver();
      const accepted: ClientCase[] = [];
      for (const [index, fields] of INVALID_CLIENTS.entries()) {
        const name = `invalid-${index}`;
        const usual = { client: name, urls: [world.server.url], product: world.product };
        const error = await driver
          .requestError("client", { ...usual, ...fields })
          .catch((failure: unknown) => ({ kind: String(failure), code: "", message: "" }));
        if (error.kind !== INVALID.kind || error.code !== INVALID.code) {
          accepted.push({ ...fields, product: `${error.kind} ${error.code}` });
        }
        expect(error.message).not.toContain("secret");
      }
      expect(accepted).toEqual([]);
    },
  },
  {
    title: "refuses a login over plain HTTP to another machine, unless that is allowed",
    async run(world) {
      const driver = world.startDriver();
      const login = { name: "ada", password: "secret" };
      const connect = (urls: readonly string[], options: ClientOptions) =>
        driver.request("client", { client: "c", urls, product: world.product, ...options });
      for (const urls of PLAIN_TO_OTHERS) {
        await connect(urls, {});
        await connect(urls, { login, allow_plain_password: true });
        const fields = { client: "c", urls, product: world.product, login };
        const error = await driver.requestError("client", fields);
        expect(error).toMatchObject(INVALID);
        expect(error.message).toContain(urls.at(-1) ?? "");
        expect(error.message).not.toContain(login.password);
      }
      for (const url of NOT_READABLE) await connect([url], { login });
    },
  },
  {
    title: "names a file that it cannot read",
    async run(world) {
      const driver = world.startDriver();
      const fields = { client: "c", urls: [world.server.url], product: world.product };
      const error = await driver.requestError("client", { ...fields, ca: MISSING_FILE });
      expect(error.message).toContain(MISSING_FILE);
    },
  },
  {
    title: "refuses wrong arguments of calls, and sends nothing",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, { nonce: "device-0123456789" });
      expect(await client.acquireError("")).toMatchObject(INVALID);
      expect(await client.borrowError("")).toMatchObject(INVALID);
      // The server takes a missing or an empty end for the longest borrow that is allowed.
      expect(await client.borrowError("ada", { until: "" })).toMatchObject(INVALID);
      const withoutEnd = { client: client.name, user: "ada" };
      const error = await client.driver.requestError("borrow", withoutEnd);
      expect(error).toMatchObject(INVALID);
      expect(error.message).toContain("until: give the end of the borrow");
      for (const options of INVALID_WAITS) {
        expect(await client.acquireError("ada", options)).toMatchObject(INVALID);
      }
      for (const options of INVALID_CALLS) {
        expect(await client.consumeError(options)).toMatchObject(INVALID);
      }
      expect(proxy.requests).toEqual([]);
    },
  },
  {
    title: "accepts a slash at the end of an address",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(`${proxy.url}/`);
      await client.acquire("ada");
      expect(proxy.requests[0]?.path).toBe("/api/v4/register");
    },
  },
  {
    title: "accepts spaces around addresses, and uses each address once",
    async run(world) {
      const [first, second] = [await world.openProxy(), await world.openProxy()];
      for (const proxy of [first, second]) proxy.fail("*", { kind: "cut before" });
      const urls = [`${first.url} `, ` ${second.url}`, `${first.url}/`, second.url];
      const client = await world.connectForOneRound(urls);
      expect(await client.acquireError("ada")).toMatchObject({ kind: "Unavailable" });
      expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
    },
  },
  {
    title: "makes no call before the first operation",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      await client.close();
      expect(proxy.requests).toEqual([]);
      await world.connect("http://127.0.0.1:1", {}, client.driver);
    },
  },
  {
    title: "uses no proxy of the environment",
    async run(world) {
      const trap = await world.openProxy();
      const env = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, trap.url]));
      const driver = world.startDriver({ ...env, NODE_USE_ENV_PROXY: "1" });
      const client = await world.connect(world.server.url, {}, driver);
      expect(await (await client.acquire("ada")).isHeld()).toBe(true);
      expect(trap.requests).toEqual([]);
    },
  },
];
