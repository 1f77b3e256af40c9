import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { QueueReply } from "../../src/http/routes/queue/queue-schemas.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../support/run-berth.ts";
import { sendRaw } from "../support/raw-request.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { chooseSize } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Place = QueueReply["products"][number]["places"][number];

const LIMITS = ["--audit-budget", "0", "--max-places-per-caller", "100000"];
const FLAGS = ["--listen", "127.0.0.1:0", ...LIMITS];
const WAITING = chooseSize(200, 10_000);
/** Longer than a place is kept without contact. */
const HOLD_SECONDS = 5;
const STANDSTILL = chooseSize(HOLD_SECONDS + 1, 70);

interface WaitingSite {
  readonly folder: string;
  readonly server: ServerProcess;
}

/** A product with one slot, which zoe holds. */
async function startFullSite(): Promise<WaitingSite> {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: 1 });
  const server = await serve(folder);
  expect((await register(server, "zoe")).status).toBe(200);
  return { folder, server };
}

const serve = (folder: string): Promise<ServerProcess> =>
  startBinary("serve", "--data", folder, ...FLAGS);

interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const send = (
  server: ServerProcess,
  path: string,
  user: string,
  { headers = {}, ...options }: SendOptions = {},
) =>
  fetch(`${server.url}/api/v4/${path}`, {
    method: "POST",
    ...options,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ product: "cad", user }),
  });

const register = (server: ServerProcess, user: string, wait?: number, signal?: AbortSignal) =>
  send(server, "register", user, {
    ...(wait !== undefined && { headers: { prefer: `wait=${wait}` } }),
    ...(signal && { signal }),
  });

async function applyQueueRule(folder: string, rule: string): Promise<void> {
  const file = join(tempFolder(), "rules.toml");
  writeFileSync(file, `[[rule]]\nproduct = "cad"\nqueue = { ${rule} }\n`);
  await runOrThrow(["rules", "apply", file, "--data", folder]);
}

const waitingRequest = (user: string): string => {
  const body = JSON.stringify({ product: "cad", user });
  const head = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=100\r\n${head}\r\n\r\n${body}`;
};

const unregister = (server: ServerProcess, user: string) => send(server, "unregister", user);

async function readPlaces(server: ServerProcess): Promise<Place[]> {
  const response = await fetch(`${server.url}/api/admin/v1/queue`);
  const { products } = (await response.json()) as QueueReply;
  return products.flatMap(({ places }) => places);
}

async function waitUntilQueued(server: ServerProcess, matches: (places: Place[]) => boolean) {
  // A long list takes the server as long as many requests.
  while (!matches(await readPlaces(server))) await Bun.sleep(WAITING / 10);
}

describe("a server with waiting users", () => {
  test("keeps places and held slots when it is killed", async () => {
    const { folder, server } = await startFullSite();
    for (const user of ["ada", "bob", "cyd"]) {
      expect((await register(server, user, 0)).status).toBe(400);
    }
    expect((await unregister(server, "zoe")).status).toBe(200);
    const summarize = (places: Place[]) =>
      places.map(({ user, position, state, since }) => ({ user, position, state, since }));
    const before = summarize(await readPlaces(server));
    expect(before).toMatchObject([
      { user: "ada", position: 0, state: "held" },
      { user: "bob", position: 1, state: "waiting" },
      { user: "cyd", position: 2, state: "waiting" },
    ]);
    await server.kill();
    const second = await serve(folder);
    expect(summarize(await readPlaces(second))).toEqual(before);
    expect((await register(second, "bob")).status).toBe(400);
    expect((await register(second, "ada")).status).toBe(200);
    expect((await readPlaces(second)).map(({ user }) => user)).toEqual(["bob", "cyd"]);
    expect(await second.stop()).toBe(0);
  });

  test(`answers ${WAITING} waiting requests on SIGTERM, and keeps their places`, async () => {
    const { folder, server } = await startFullSite();
    await applyQueueRule(folder, `max_waiting = ${WAITING}`);
    const port = Number(new URL(server.url).port);
    const users = Array.from({ length: WAITING }, (_, index) => `user-${index}`);
    // Without a limit of connections, which `fetch` has.
    const replies = users.map((user) => sendRaw(port, waitingRequest(user)));
    await waitUntilQueued(server, (places) => places.length === users.length);
    expect(await server.stop()).toBe(0);
    for (const reply of await Promise.all(replies)) {
      const [head = "", body = ""] = reply.split("\r\n\r\n");
      expect(head).toStartWith("HTTP/1.1 400 ");
      expect(head.toLowerCase()).toContain("\r\nretry-after: 15\r\n");
      const queue = expect.objectContaining({ length: WAITING, eta: null });
      expect(JSON.parse(body)).toMatchObject({ code: "floating_not_available", queue });
    }
    const second = await serve(folder);
    expect((await readPlaces(second)).map(({ user }) => user).toSorted()).toEqual(users.toSorted());
    expect(await second.stop()).toBe(0);
  });

  test("serves its queue in order after it stood still for longer than a place is kept", async () => {
    const { folder, server } = await startFullSite();
    await applyQueueRule(folder, `hold_seconds = ${HOLD_SECONDS}`);
    const users = ["ada", "bob", "cyd"];
    const granted: string[] = [];
    const waiting: Promise<void>[] = [];
    for (const user of users) {
      const request = register(server, user, 300).then(async ({ status }) => {
        granted.push(`${user} ${status}`);
        expect((await unregister(server, user)).status).toBe(200);
      });
      waiting.push(request);
      await waitUntilQueued(server, (places) => places.length === waiting.length);
    }
    server.signal("SIGSTOP");
    const released = unregister(server, "zoe");
    await Bun.sleep(STANDSTILL * 1_000);
    server.signal("SIGCONT");
    expect((await released).status).toBe(200);
    await Promise.all(waiting);
    expect(granted).toEqual(["ada 200", "bob 200", "cyd 200"]);
    expect(await readPlaces(server)).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  test("notices that a waiting client disconnects, and grants it no slot", async () => {
    const { server } = await startFullSite();
    const aborting = new AbortController();
    const reply = register(server, "ada", 100, aborting.signal).catch(() => null);
    await waitUntilQueued(server, ([place]) => place?.connected === true);
    aborting.abort();
    expect(await reply).toBeNull();
    await waitUntilQueued(server, ([place]) => place?.connected === false);
    expect((await unregister(server, "zoe")).status).toBe(200);
    await waitUntilQueued(server, ([place]) => place?.state === "held");
    expect((await register(server, "bob")).status).toBe(400);
    expect((await register(server, "ada")).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  test("does not log a request as slow because it waited", async () => {
    const { server } = await startFullSite();
    expect((await register(server, "ada", 2)).status).toBe(400);
    expect(await server.stop()).toBe(0);
    expect(server.stderr()).not.toContain("slow request");
  });
});

describe("berth queue", () => {
  test("shows members with idle reserved slots first, with their groups", async () => {
    const { folder, server } = await startFullSite();
    const site = ["--data", folder];
    const file = join(tempFolder(), "rules.toml");
    writeFileSync(
      file,
      `[groups.sim]
users = ["sim-*"]
[groups.ops]
users = ["ops-*"]
[[rule]]
product = "cad"
reserve = [{ group = "sim", slots = 1, idle = "lend" }]
queue = { priority = ["ops"] }
`,
    );
    await runOrThrow(["rules", "apply", file, ...site]);
    for (const user of ["bob", "ops-1", "sim-1"]) await register(server, user, 0);
    const rows = (await runOrThrow(["queue", ...site]))
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(rows.slice(0, 4).map((row) => row.slice(1, 4))).toEqual([
      ["POSITION", "USER", "GROUP"],
      ["1", "sim-1", "sim (reserved)"],
      ["2", "ops-1", "ops (priority)"],
      ["3", "bob", "-"],
    ]);
    expect(await (await register(server, "sim-1", 0)).json()).toMatchObject({
      queue: { position: 1, length: 3 },
    });
    expect(await server.stop()).toBe(0);
  });

  test("lists who waits, moves one to the front and removes one", async () => {
    const { folder, server } = await startFullSite();
    const site = ["--data", folder];
    expect(await runOrThrow(["queue", ...site])).toBe("no user waits for a slot\n");
    for (const user of ["ada", "bob", "cyd"]) await register(server, user, 0);
    const text = await runOrThrow(["queue", "--product", "cad", ...site]);
    expect(text).toMatch(/^PRODUCT +POSITION +USER/);
    expect(text).toMatch(/\ncad +1 +ada +- .*\ncad +2 +bob +- .*\ncad +3 +cyd +- /);
    expect(await runOrThrow(["queue", "front", "--product", "cad", "cyd", ...site])).toBe(
      "cyd is at the front of the queue of cad\n",
    );
    expect(await runOrThrow(["queue", "drop", "ada", ...site])).toBe(
      "ada no longer waits for cad\n",
    );
    const { products } = await runJsonOrThrow<QueueReply>(["queue", ...site]);
    expect(products.flatMap(({ places }) => places.map(({ user }) => user))).toEqual([
      "cyd",
      "bob",
    ]);
    const refused = await runBerth(["queue", "drop", "ada", ...site]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("berth queue");
    expect((await runBerth(["queue", "drop", ...site])).code).toBe(2);
    expect(await server.stop()).toBe(0);
  });
});
