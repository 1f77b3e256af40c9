// The stream as those see it who watch: over real listeners, since much of it is about connections.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { later, SECOND } from "../../src/domain/time.ts";
import { socketGate } from "../../src/http/gate.ts";
import { listen, listenOnSocket, type AccessPolicy } from "../../src/http/server.ts";
import { MAX_STREAMS, StatusStreams } from "../../src/http/status-streams.ts";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { createNetworkMatcher } from "../../src/platform/networks.ts";
import { expectOk, expectRefusal, openAppliance, type Appliance } from "../support/appliance.ts";
import { bearerHeader, waitUntil } from "../support/running-site.ts";
import { PATIENCE } from "../support/patience.ts";
import { hoursLater, minutesLater, MONDAY } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { STREAM_PATH, StatusStream } from "../support/status-stream.ts";

tellNoSlowSyncs();

const POLICY: AccessPolicy = {
  isClient: createNetworkMatcher(["127.0.0.0/8"]),
  isAdmin: () => true,
  clientAuth: "open",
  adminOpen: false,
  allowPlain: false,
  serverNames: [],
  logMode: "default",
};

function served({ services }: Appliance) {
  const server = listen({ services, host: "127.0.0.1", port: 0, policy: POLICY });
  onTestFinished(() => server.stop());
  return { ...server, url: server.address, port: Number(new URL(server.address).port) };
}

async function refusedAt(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${STREAM_PATH}`, { headers });
  // Not refused: what comes then has no end to wait for.
  if (response.ok) throw new Error("somebody was let in who should not be");
  return [response, await response.json()] as const;
}

const inUse = (count: number) => (status: { licenses: { floating_slots_in_use: number }[] }) =>
  status.licenses[0]?.floating_slots_in_use === count;

/** Whoever else fills the disk of this machine would be worth a line. */
const steady: Disk = { ...realDisk, freeBytes: () => 2 ** 34 };

describe("what is told", () => {
  test("at once what status tells, and again when something changed", async () => {
    const site = await openAppliance({ disk: steady });
    const watching = await StatusStream.open(served(site).url);
    expect(watching.response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(watching.response.headers.get("cache-control")).toBe("no-store");
    const first = await watching.waitForStatus(inUse(0));
    const { storage, ...status } = expectOk(await site.status());
    expect(first).toEqual({ ...status, storage: { ...storage, free_bytes: expect.any(Number) } });
    expectOk(await site.register({ user: "ada" }));
    await watching.waitForStatus(inUse(1));
    expectOk(await site.unregister({ user: "ada" }));
    await watching.waitForStatus(inUse(0));
    expect(watching.statuses).toHaveLength(3);
  });

  test("nothing for the time alone, or for a heartbeat; but that it lives", async () => {
    const site = await openAppliance({ disk: steady });
    expectOk(await site.register({ user: "ada" }));
    const watching = await StatusStream.open(served(site).url);
    await watching.waitForStatus(inUse(1));
    const looks = spyOn(site.operations, "status");
    for (let beat = 1; watching.lines.length < 2; beat += 1) {
      site.clock.now = later(MONDAY, beat * 10 * SECOND);
      expectOk(await site.register({ user: "ada" }));
      await Bun.sleep(200);
    }
    expect(watching.lines.slice(1)).toEqual([""]);
    // It looks once a second at most; after ten seconds of silence the connection would be cut.
    expect(looks.mock.calls.length).toBeLessThan(10);
  });

  test("a slot that ends by itself", async () => {
    const site = await openAppliance({ disk: steady });
    expectOk(await site.register({ user: "ada" }));
    const watching = await StatusStream.open(served(site).url);
    await watching.waitForStatus(inUse(1));
    site.clock.now = minutesLater(30);
    await watching.waitForStatus(inUse(0));
  });

  test("everybody the same, of one look a second; nobody looks when nobody watches", async () => {
    const site = await openAppliance({ disk: steady });
    const { url } = served(site);
    const status = spyOn(site.operations, "status");
    const all = await Promise.all(Array.from({ length: 8 }, () => StatusStream.open(url)));
    await Promise.all(all.map((one) => one.waitForStatus(inUse(0))));
    expectOk(await site.register({ user: "ada" }));
    await Promise.all(all.map((one) => one.waitForStatus(inUse(1))));
    const looks = (): number => status.mock.calls.length;
    const [before, began] = [looks(), performance.now()];
    await waitUntil(() => looks() - before >= 3, "three looks");
    const seconds = Math.ceil((performance.now() - began) / 1_000);
    expect(looks() - before).toBeLessThanOrEqual(seconds + 1);
    for (const one of all) one.disconnect();
    // It takes a moment until the server knows that they have gone.
    const deadline = performance.now() + PATIENCE;
    for (let last = -1; looks() !== last;) {
      expect(performance.now()).toBeLessThan(deadline);
      last = looks();
      await Bun.sleep(2_100);
    }
  });
});

describe("who may watch", () => {
  test("whoever may administer, and nobody else", async () => {
    const site = await openAppliance();
    const { url } = served(site);
    const made = await site.services.access.createToken("ops", null, "test");
    expectRefusal(await refusedAt(url), 401, "unauthorized");
    expectRefusal(await refusedAt(url, bearerHeader("berth_wrong")), 401, "unauthorized");
    const token = made.ok ? made.value.token : "";
    const watching = await StatusStream.open(url, { headers: bearerHeader(token) });
    expect(watching.response.status).toBe(200);
  });

  test("until the token is revoked or has ended; others watch on", async () => {
    const site = await openAppliance();
    const { url } = served(site);
    const { access } = site.services;
    const watch = async (name: string, days: number | null): Promise<StatusStream> => {
      const made = await access.createToken(name, days, "test");
      if (!made.ok) throw new Error(made.fault.code);
      return StatusStream.open(url, { headers: bearerHeader(made.value.token) });
    };
    const [kept, ending, revoked] = [
      await watch("kept", null),
      await watch("ending", 1),
      await watch("revoked", null),
    ];
    await access.revokeToken("revoked", "test");
    expect(await revoked.ended).toBe(true);
    site.clock.now = hoursLater(25);
    expect(await ending.ended).toBe(true);
    expectOk(await site.register({ user: "ada" }, bearerHeader("none")));
    await kept.waitForStatus(inUse(1));
  });

  test("without a credential, until there is one", async () => {
    const site = await openAppliance();
    const watching = await StatusStream.open(served(site).url);
    await watching.waitForStatus(inUse(0));
    await site.services.access.createToken("ops", null, "test");
    expect(await watching.ended).toBe(true);
  });
});

describe("how many may watch", () => {
  test("so many over all listeners; who leaves makes room", async () => {
    const site = await openAppliance();
    const { url } = served(site);
    const unix = join(site.folder, "berth.sock");
    const socket = listenOnSocket(site.services, unix, "default");
    onTestFinished(() => socket.stop());
    const all: StatusStream[] = [];
    for (let n = 0; n < MAX_STREAMS; n += 1) {
      all.push(
        await (n % 2 === 0 ? StatusStream.open(url) : StatusStream.open("http://berth", { unix })),
      );
    }
    expect(all.map(({ response }) => response.status)).toEqual(all.map(() => 200));
    expect(MAX_STREAMS).toBe(32);
    const message = expectRefusal(await refusedAt(url), 429, "too_many_requests");
    expect(message).toBe("too many open status streams; close one of them");
    all[1]?.disconnect();
    // It takes a moment until the server knows that it has gone.
    const deadline = performance.now() + PATIENCE;
    while ((await StatusStream.open(url)).response.status !== 200) {
      expect(performance.now()).toBeLessThan(deadline);
    }
    expectRefusal(await refusedAt(url), 429, "too_many_requests");
  });
});

describe("a stop", () => {
  test("ends the listener's own streams, and leaves the others", async () => {
    const site = await openAppliance();
    const [one, other] = [served(site), served(site)];
    const watching = [
      await StatusStream.open(one.url),
      await StatusStream.open(other.url),
    ] as const;
    await Promise.all(watching.map((each) => each.waitForStatus(inUse(0))));
    const stopping = one.stop();
    // A stream that a stop does not end is cut off by it later, which is no proper end.
    expect(await watching[0].ended).toBe(true);
    await stopping;
    expectOk(await site.register({ user: "ada" }));
    await watching[1].waitForStatus(inUse(1));
  });
});

describe("somebody who reads nothing", () => {
  test("is skipped: nothing piles up, and the newest comes once it reads", async () => {
    const site = await openAppliance();
    const reply = expectOk(await site.status());
    const streams = new StatusStreams();
    let looks = 0;
    // More than the system holds for a connection, and different each time.
    const status = async () => ({ ...reply, pid: (looks += 1), version: "v".repeat(8 * MIB) });
    const viewer = { gate: socketGate, isStillAdmitted: () => true, status };
    const server = Bun.serve({
      port: 0,
      idleTimeout: 255,
      fetch: async () => new Response(streams.open(viewer, await status())),
    });
    onTestFinished(() => server.stop(true));
    const watching = await silent(server.port ?? 0);
    await waitUntil(() => looks >= 12, "twelve looks");
    const seen = await pidsIn(watching, looks + 1);
    // The first ones waited for it; those in between were never made.
    expect(seen.slice(0, 3)).toEqual([1, 2, 3]);
    expect(seen.length).toBeLessThan(9);
  });
});

const MIB = 1024 * 1024;

/** Asks for something and does not read what comes. */
function silent(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port }, () => {
      socket.pause();
      socket.write(`GET ${STREAM_PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`, () => resolve(socket));
    });
    onTestFinished(() => void socket.destroy());
  });
}

/** Reads what is there, until `last` has come. */
function pidsIn(socket: Socket, last: number): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const seen: number[] = [];
  let tail = "";
  socket.on("data", (part) => {
    tail = `${tail.slice(-32)}${String(part)}`;
    for (const [, pid] of tail.matchAll(/"pid":(\d+),/g)) {
      if (!seen.includes(Number(pid))) seen.push(Number(pid));
    }
    if ((seen.at(-1) ?? 0) >= last) resolve(seen);
  });
  socket.resume();
  return promise;
}
