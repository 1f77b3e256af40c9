// An application that follows the table "Client lifecycle", over real HTTP, while the test moves
// the server's clock.
import { expect, onTestFinished, test } from "bun:test";
import { HOUR, later, MINUTE } from "../../../../src/domain/time.ts";
import { listen, type Listener } from "../../../../src/http/server.ts";
import { clientLifecycle } from "../../../../src/web/docs/client-lifecycle-texts.ts";
import {
  openAppliance,
  OPEN_POLICY,
  type Appliance,
  type ApplianceOptions,
} from "../../../support/appliance.ts";
import { FaultyDisk } from "../../../support/faulty-disk.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { PATIENCE } from "../../../support/patience.ts";
import { tableRowsBelow } from "../../../support/documents.ts";
import { consumptionTerms, featureTerms } from "../../../support/scenario.ts";

/** The fields of any reply that the table names. */
interface Reply {
  readonly code?: string;
  readonly text?: string;
  readonly total_consumptions?: number;
  readonly registered_at?: string;
  readonly expires_at?: string;
  readonly lease?: string;
  readonly floating_timeout?: number;
}

const LICENSE = { 1: { slots: 2, timeoutMinutes: 15, consumption: consumptionTerms({ max: 10 }) } };

/** A server on a real port that can be stopped and started, with a clock to move. */
class RestartableServer {
  readonly appliance: Appliance;
  #server: Listener | null = null;
  url = "";

  constructor(appliance: Appliance) {
    this.appliance = appliance;
    onTestFinished(() => this.stop());
    this.start();
  }

  static async open(options: ApplianceOptions = {}): Promise<RestartableServer> {
    return new RestartableServer(await openAppliance({ licenses: LICENSE, ...options }));
  }

  start(): void {
    const policy = OPEN_POLICY;
    const { services } = this.appliance;
    this.#server = listen({ services, host: "127.0.0.1", port: 0, policy });
    this.url = this.#server.address;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  now = (): number => this.appliance.clock.now;

  advanceTime(milliseconds: number): void {
    this.appliance.clock.now = later(this.appliance.clock.now, milliseconds);
  }

  send(path: string, init: RequestInit): Promise<Response> {
    return fetch(`${this.url}/api/v4/${path}`, { method: "POST", ...init });
  }

  async post(path: string, fields: object, headers = {}): Promise<[status: number, Reply]> {
    const allHeaders = { "content-type": "application/json", ...headers };
    const response = await this.send(path, { body: JSON.stringify(fields), headers: allHeaders });
    const text = await response.text();
    return [response.status, text.startsWith("{") ? (JSON.parse(text) as Reply) : { text }];
  }
}

type HeartbeatOutcome = "registered" | "gap" | "lost" | "unreachable" | "stopped";

/** The rules of the table, as an application would implement them. */
class LicensedClient {
  readonly #site: RestartableServer;
  readonly #user: string;
  registration: Reply | null = null;

  constructor(site: RestartableServer, user: string) {
    this.#site = site;
    this.#user = user;
  }

  /** A third of the timeout. */
  get interval(): number {
    return ((this.registration?.floating_timeout ?? 0) * MINUTE) / 3;
  }

  async heartbeat(): Promise<HeartbeatOutcome> {
    const before = this.registration;
    try {
      const [status, reply] = await this.#site.post("register", { user: this.#user });
      if (reply.code === "floating_not_available") return "lost";
      expect([status, reply]).toEqual([200, reply]);
      this.registration = reply;
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      const hasExpired = before === null || this.#site.now() >= Date.parse(before.expires_at ?? "");
      return hasExpired ? "stopped" : "unreachable";
    }
    return before !== null && this.registration.registered_at !== before.registered_at
      ? "gap"
      : "registered";
  }

  quit = () => this.#site.post("unregister", { user: this.#user });
}

const startClient = async (site: RestartableServer, user: string): Promise<LicensedClient> => {
  const client = new LicensedClient(site, user);
  expect(await client.heartbeat()).toBe("registered");
  return client;
};

test("src/http/README.md has every row of the client lifecycle table on the documentation page", () => {
  const documented = tableRowsBelow("src/http/README.md", "### Client lifecycle");
  const useStraightQuotes = (text: string): string => text.replaceAll("’", "'");
  expect(documented).toEqual(clientLifecycle.map((row) => row.map(useStraightQuotes)));
  for (const cell of clientLifecycle.flat()) expect(cell.length).toBeLessThanOrEqual(100);
});

test("a heartbeat every third of floating_timeout keeps the slot while other users wait for one", async () => {
  const site = await RestartableServer.open();
  const client = await startClient(site, "ada#ws-17");
  await startClient(site, "grace");
  for (let beat = 0; beat < 100; beat += 1) {
    site.advanceTime(client.interval);
    expect(await client.heartbeat()).toBe("registered");
    // A new user takes the other slot as soon as it is free.
    await site.post("register", { user: `next-${beat}` });
  }
  expect(client.interval).toBe(5 * MINUTE);
});

test("a client keeps its slot when two of three heartbeats are lost", async () => {
  const site = await RestartableServer.open();
  const client = await startClient(site, "ada");
  await startClient(site, "grace");
  site.advanceTime(3 * client.interval - 1);
  expect(await client.heartbeat()).toBe("registered");
});

test("a client keeps running while the server is unreachable, and stops at expires_at", async () => {
  const site = await RestartableServer.open();
  const client = await startClient(site, "ada");
  await site.stop();
  site.advanceTime(14 * MINUTE);
  expect(await client.heartbeat()).toBe("unreachable");
  site.start();
  expect(await client.heartbeat()).toBe("registered");
  await site.stop();
  site.advanceTime(15 * MINUTE - 1);
  expect(await client.heartbeat()).toBe("unreachable");
  site.advanceTime(1);
  expect(await client.heartbeat()).toBe("stopped");
});

test("a client that slept for hours gets floating_not_available when others took all slots", async () => {
  const site = await RestartableServer.open();
  const client = await startClient(site, "ada");
  site.advanceTime(8 * HOUR);
  await startClient(site, "grace");
  const other = await startClient(site, "alan");
  expect(await client.heartbeat()).toBe("lost");
  expect(await client.quit()).toEqual([
    400,
    expect.objectContaining({ code: "user_not_registered" }),
  ]);
  expect(await other.quit()).toEqual([200, { text: "user_unregistered" }]);
  expect(await client.heartbeat()).toBe("gap");
});

test("registered_at changes after a sleep longer than the timeout, and not after a shorter one", async () => {
  const site = await RestartableServer.open();
  const client = await startClient(site, "ada");
  site.advanceTime(15 * MINUTE - 1);
  expect(await client.heartbeat()).toBe("registered");
  site.advanceTime(15 * MINUTE);
  expect(await client.heartbeat()).toBe("gap");
  expect(await client.heartbeat()).toBe("registered");
});

test("one user name on two machines shares a slot, and the first to quit releases it for both", async () => {
  const site = await RestartableServer.open();
  const [first, second] = [await startClient(site, "ada"), await startClient(site, "ada")];
  expect((await site.appliance.listHolders()).length).toBe(1);
  site.advanceTime(MINUTE);
  expect(await first.quit()).toEqual([200, { text: "user_unregistered" }]);
  expect(await site.appliance.listHolders()).toEqual([]);
  expect(await second.heartbeat()).toBe("gap");
});

test("user names with the machine after # take one slot for each machine, and rules count one person", async () => {
  const site = await RestartableServer.open();
  const [first, second] = [
    await startClient(site, "ada#ws-17"),
    await startClient(site, "ada#ws-18"),
  ];
  expect((await site.appliance.listHolders()).length).toBe(2);
  await first.quit();
  const rules = '[[rule]]\nproduct = "cad"\n[rule.limit]\neach_user = 1\n';
  unwrap(await site.appliance.services.sharingRules.apply(rules, "*", "open", "test"));
  expect((await site.post("register", { user: "ada#ws-17" }))[1].code).toBe("slots_capped");
  site.advanceTime(MINUTE);
  expect(await second.heartbeat()).toBe("registered");
});

test("add_consumption repeated after a 503 with the same Idempotency-Key counts once", async () => {
  const disk = new FaultyDisk();
  const site = await RestartableServer.open({ disk });
  const key = { "idempotency-key": "job-4711" };
  disk.bytesLeft = 0;
  expect(await site.post("add_consumption", {}, key)).toEqual([
    503,
    expect.objectContaining({ code: "storage_full" }),
  ]);
  disk.clearFaults();
  let [status, reply] = await site.post("add_consumption", {}, key);
  const deadline = performance.now() + PATIENCE;
  while (status === 503 && performance.now() < deadline) {
    await Bun.sleep(100);
    [status, reply] = await site.post("add_consumption", {}, key);
  }
  expect([status, reply.total_consumptions]).toEqual([200, 1]);
  const [, again] = await site.post("add_consumption", {}, key);
  expect(again.total_consumptions).toBe(1);
});

test("add_consumption with {} counts 1", async () => {
  const site = await RestartableServer.open();
  expect((await site.post("add_consumption", {}))[1].total_consumptions).toBe(1);
  expect((await site.post("add_consumption", {}))[1].total_consumptions).toBe(2);
});

test.each(["register", "add_consumption"])(
  "an empty body is refused with 400 and a missing Content-Type with 415 by %s",
  async (path) => {
    const site = await RestartableServer.open();
    const json = { "content-type": "application/json" };
    const refusals = [];
    for (const init of [
      { headers: json },
      { headers: json, body: "" },
      { body: Buffer.from("{}") },
    ]) {
      const response = await site.send(path, init);
      const { code } = (await response.json()) as Reply;
      refusals.push([response.status, code]);
    }
    expect(refusals).toEqual([
      [400, "invalid_json"],
      [400, "invalid_json"],
      [415, "unsupported_media_type"],
    ]);
  },
);

const VIEW = featureTerms("view", { floating: { slots: 1, timeoutMinutes: 6 } });

test("a floating feature expires without its own heartbeat although the license's slot is kept", async () => {
  const site = await RestartableServer.open({
    licenses: { 1: { ...LICENSE[1], features: [VIEW] } },
  });
  const client = await startClient(site, "ada");
  await startClient(site, "grace");
  const takeView = (user: string) => site.post("featureRegister", { user, feature: "view" });
  const [, slot] = await takeView("ada");
  expect(slot.floating_timeout).toBe(6);
  for (let beat = 0; beat < 6; beat += 1) {
    site.advanceTime(2 * MINUTE);
    expect((await takeView("ada"))[0]).toBe(200);
    expect((await takeView("grace"))[1].code).toBe("floating_not_available");
    expect(await client.heartbeat()).toBe("registered");
    expect((await site.post("register", { user: "grace" }))[0]).toBe(200);
  }
  site.advanceTime(5 * MINUTE);
  expect(await client.heartbeat()).toBe("registered");
  expect((await site.post("register", { user: "grace" }))[0]).toBe(200);
  site.advanceTime(MINUTE);
  expect((await takeView("grace"))[0]).toBe(200);
  expect((await takeView("ada"))[1].code).toBe("floating_not_available");
});

test("a borrow needs no heartbeat, and borrowing again with the same X-Nonce gives a new lease", async () => {
  const site = await RestartableServer.open();
  const nonce = { "x-nonce": "device-0123456789" };
  const until = (hours: number) => new Date(site.now() + hours * HOUR).toISOString();
  const [, first] = await site.post("borrow", { user: "ada", borrowed_until: until(10) }, nonce);
  expect(first.lease).toBeString();
  site.advanceTime(9 * HOUR);
  const [, next] = await site.post("borrow", { user: "ada", borrowed_until: until(10) }, nonce);
  expect(next.registered_at).toBe(first.registered_at ?? "");
  expect(next.lease).not.toBe(first.lease ?? "");
  expect(await site.post("unregister", { user: "ada" })).toEqual([
    200,
    { text: "user_unregistered" },
  ]);
});

test("a borrow without early return keeps its slot until borrowed_until", async () => {
  const site = await RestartableServer.open({
    licenses: { 1: { ...LICENSE[1], earlyReturn: false } },
  });
  const borrowed_until = new Date(site.now() + 10 * HOUR).toISOString();
  await site.post("borrow", { user: "ada", borrowed_until });
  const [status, { code }] = await site.post("unregister", { user: "ada" });
  expect([status, code]).toEqual([400, "early_return_not_allowed"]);
  site.advanceTime(10 * HOUR - 1);
  expect(await site.appliance.listHolders()).toEqual(["ada"]);
  site.advanceTime(1);
  expect(await site.appliance.listHolders()).toEqual([]);
});

test("register is refused after the end of the license, which is expires_at", async () => {
  const start = (await openAppliance()).clock.now;
  const validUntil = later(start, 10 * MINUTE);
  const site = await RestartableServer.open({ licenses: { 1: { ...LICENSE[1], validUntil } } });
  const client = await startClient(site, "ada");
  expect(Date.parse(client.registration?.expires_at ?? "")).toBe(validUntil);
  site.advanceTime(10 * MINUTE);
  expect((await site.post("register", { user: "ada" }))[1].code).toBe("license_expired");
});

test("a caller with a login acts only under its own name and its instances, and its token expires after an hour", async () => {
  const site = await openAppliance({ gate: { clientAuth: "login" } });
  const [name, password] = ["ada", "a long enough password"];
  await site.services.access.setUser(name, "user", password, "test");
  const basic = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
  const [, { token }] = await site.get<{ token: string }>("/auth", { authorization: basic });
  const register = async (user: string) =>
    (await site.register({ user }, { authorization: `Bearer ${token}` }))[0].status;
  expect(await register("ada")).toBe(200);
  expect(await register("ada#ws-17")).toBe(200);
  expect(await register("ada@ws-17")).toBe(403);
  site.clock.now = later(site.clock.now, HOUR);
  expect(await register("ada")).toBe(401);
});

test("a group of logins contains a login's own instances, and no user that only claims the name", async () => {
  const site = await openAppliance({ gate: { clientAuth: "login" } });
  const password = "a long enough password";
  const tokens = new Map<string, string>();
  for (const [name, role] of [
    ["ada", "user"],
    ["eve", "user"],
    ["root", "admin"],
  ] as const) {
    await site.services.access.setUser(name, role, password, "test");
    const basic = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
    const [, { token }] = await site.get<{ token: string }>("/auth", { authorization: basic });
    tokens.set(name, token);
  }
  const rules = '[groups.sim]\nlogins = ["ada"]\n[[rule]]\nproduct = "cad"\nallow_only = ["sim"]\n';
  unwrap(await site.services.sharingRules.apply(rules, "*", "login", "test"));
  const register = async (login: string, user: string) => {
    const authorization = `Bearer ${tokens.get(login)}`;
    const [{ status }, reply] = await site.register({ user }, { authorization });
    return status === 200 ? "granted" : (reply as { code?: string }).code;
  };
  expect(await register("ada", "ada")).toBe("granted");
  expect(await register("ada", "ada#ws-17.4711")).toBe("granted");
  expect(await register("ada", "adam")).toBe("forbidden");
  expect(await register("eve", "ada#2")).toBe("forbidden");
  expect(await register("eve", "eve")).toBe("not_allowed_by_rules");
  // An administrator who acts for a user has not logged in as that user.
  expect(await register("root", "ada#3")).toBe("not_allowed_by_rules");
});

test("a borrow repeated with its Idempotency-Key shows the old slot although it was released", async () => {
  const site = await RestartableServer.open();
  const key = { "idempotency-key": "trip-1" };
  const [, first] = await site.post("borrow", { user: "ada" }, key);
  await site.post("unregister", { user: "ada" });
  const [status, again] = await site.post("borrow", { user: "ada" }, key);
  expect([status, again.registered_at]).toEqual([200, first.registered_at]);
  expect(await site.appliance.listHolders()).toEqual([]);
});
