// The status stream as clients see it, over real listeners, as much of it is about connections.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { later, SECOND } from "../../../../src/domain/time.ts";
import { socketGate } from "../../../../src/http/access/gate.ts";
import { listen, listenOnSocket } from "../../../../src/http/server.ts";
import { MAX_STREAMS, StatusStreams } from "../../../../src/http/routes/page/status-streams.ts";
import { realDisk, type Disk } from "../../../../src/platform/files/disk.ts";
import { createNetworkMatcher } from "../../../../src/platform/network/networks.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  OPEN_POLICY,
  type Appliance,
} from "../../../support/appliance.ts";
import { bearerHeader } from "../../../support/running-site.ts";
import { PATIENCE } from "../../../support/patience.ts";
import { hoursLater, minutesLater, MONDAY } from "../../../support/scenario.ts";
import { tellNoSlowSyncs } from "../../../support/slow-syncs.ts";
import { STREAM_PATH, StatusStream } from "../../../support/status-stream.ts";
import { waitUntil } from "../../../support/wait-until.ts";

tellNoSlowSyncs();

const POLICY = { ...OPEN_POLICY, isClient: createNetworkMatcher(["127.0.0.0/8"]) };

function startServer({ services }: Appliance) {
  const server = listen({ services, host: "127.0.0.1", port: 0, policy: POLICY });
  onTestFinished(() => server.stop());
  return { ...server, url: server.address, port: Number(new URL(server.address).port) };
}

async function requestRefusedStream(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${STREAM_PATH}`, { headers });
  // A stream that was not refused has no end to wait for.
  if (response.ok) throw new Error("the stream was opened although it should be refused");
  return [response, await response.json()] as const;
}

const hasSlotsInUse =
  (count: number) => (status: { licenses: { floating_slots_in_use: number }[] }) =>
    status.licenses[0]?.floating_slots_in_use === count;

/** A constant amount of free space: another program on this machine could change the real one. */
const steadyDisk: Disk = { ...realDisk, freeBytes: () => 2 ** 34 };

describe("the status stream", () => {
  test("sends the status at once, and again after each change", async () => {
    const site = await openAppliance({ disk: steadyDisk });
    const stream = await StatusStream.open(startServer(site).url);
    expect(stream.response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(stream.response.headers.get("cache-control")).toBe("no-store");
    const first = await stream.waitForStatus(hasSlotsInUse(0));
    const { storage, ...status } = expectOk(await site.status());
    expect(first).toEqual({ ...status, storage: { ...storage, free_bytes: expect.any(Number) } });
    expectOk(await site.register({ user: "ada" }));
    await stream.waitForStatus(hasSlotsInUse(1));
    expectOk(await site.unregister({ user: "ada" }));
    await stream.waitForStatus(hasSlotsInUse(0));
    expect(stream.statuses).toHaveLength(3);
  });

  test("sends only an empty line while nothing but time and heartbeats changes", async () => {
    const site = await openAppliance({ disk: steadyDisk });
    expectOk(await site.register({ user: "ada" }));
    const stream = await StatusStream.open(startServer(site).url);
    await stream.waitForStatus(hasSlotsInUse(1));
    const statusReads = spyOn(site.applianceStatus, "read");
    for (let beat = 1; stream.lines.length < 2; beat += 1) {
      site.clock.now = later(MONDAY, beat * 10 * SECOND);
      expectOk(await site.register({ user: "ada" }));
      await Bun.sleep(200);
    }
    expect(stream.lines.slice(1)).toEqual([""]);
    // The status is read once a second at most. After ten seconds of silence the connection is cut.
    expect(statusReads.mock.calls.length).toBeLessThan(10);
  });

  test("sends the status after a slot expires", async () => {
    const site = await openAppliance({ disk: steadyDisk });
    expectOk(await site.register({ user: "ada" }));
    const stream = await StatusStream.open(startServer(site).url);
    await stream.waitForStatus(hasSlotsInUse(1));
    site.clock.now = minutesLater(30);
    await stream.waitForStatus(hasSlotsInUse(0));
  });

  test("reads the status once a second for all clients, and not at all without clients", async () => {
    const site = await openAppliance({ disk: steadyDisk });
    const { url } = startServer(site);
    const status = spyOn(site.applianceStatus, "read");
    const all = await Promise.all(Array.from({ length: 8 }, () => StatusStream.open(url)));
    await Promise.all(all.map((stream) => stream.waitForStatus(hasSlotsInUse(0))));
    expectOk(await site.register({ user: "ada" }));
    await Promise.all(all.map((stream) => stream.waitForStatus(hasSlotsInUse(1))));
    const countReads = (): number => status.mock.calls.length;
    const [before, startedAt] = [countReads(), performance.now()];
    await waitUntil(() => countReads() - before >= 3, "three reads of the status");
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
    expect(countReads() - before).toBeLessThanOrEqual(seconds + 1);
    for (const stream of all) stream.disconnect();
    // The server notices only after a while that the clients disconnected.
    const deadline = performance.now() + PATIENCE;
    for (let last = -1; countReads() !== last;) {
      expect(performance.now()).toBeLessThan(deadline);
      last = countReads();
      await Bun.sleep(2_100);
    }
  });
});

describe("access to the status stream", () => {
  test("is open to administrators only", async () => {
    const site = await openAppliance();
    const { url } = startServer(site);
    const created = await site.services.access.createToken("ops", null, "test");
    expectRefusal(await requestRefusedStream(url), 401, "unauthorized");
    expectRefusal(
      await requestRefusedStream(url, bearerHeader("berth_wrong")),
      401,
      "unauthorized",
    );
    const token = created.ok ? created.value.token : "";
    const stream = await StatusStream.open(url, { headers: bearerHeader(token) });
    expect(stream.response.status).toBe(200);
  });

  test("ends when its token is revoked or expires, and other streams stay open", async () => {
    const site = await openAppliance();
    const { url } = startServer(site);
    const { access } = site.services;
    const openStream = async (name: string, days: number | null): Promise<StatusStream> => {
      const created = await access.createToken(name, days, "test");
      if (!created.ok) throw new Error(created.fault.code);
      return StatusStream.open(url, { headers: bearerHeader(created.value.token) });
    };
    const [valid, expiring, revoked] = [
      await openStream("valid", null),
      await openStream("expiring", 1),
      await openStream("revoked", null),
    ];
    await access.revokeToken("revoked", "test");
    expect(await revoked.ended).toBe(true);
    site.clock.now = hoursLater(25);
    expect(await expiring.ended).toBe(true);
    expectOk(await site.register({ user: "ada" }, bearerHeader("none")));
    await valid.waitForStatus(hasSlotsInUse(1));
  });

  test("without a credential ends when the first credential is created", async () => {
    const site = await openAppliance();
    const stream = await StatusStream.open(startServer(site).url);
    await stream.waitForStatus(hasSlotsInUse(0));
    await site.services.access.createToken("ops", null, "test");
    expect(await stream.ended).toBe(true);
  });
});

describe("the number of status streams", () => {
  test("is limited to 32 over all listeners, and one more opens after a client disconnects", async () => {
    const site = await openAppliance();
    const { url } = startServer(site);
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
    const message = expectRefusal(await requestRefusedStream(url), 429, "too_many_requests");
    expect(message).toBe("too many open status streams; close one of them");
    all[1]?.disconnect();
    // The server notices only after a while that the client disconnected.
    const deadline = performance.now() + PATIENCE;
    while ((await StatusStream.open(url)).response.status !== 200) {
      expect(performance.now()).toBeLessThan(deadline);
    }
    expectRefusal(await requestRefusedStream(url), 429, "too_many_requests");
  });
});

describe("stopping a listener", () => {
  test("ends its own status streams and leaves those of other listeners open", async () => {
    const site = await openAppliance();
    const [first, second] = [startServer(site), startServer(site)];
    const streams = [
      await StatusStream.open(first.url),
      await StatusStream.open(second.url),
    ] as const;
    await Promise.all(streams.map((stream) => stream.waitForStatus(hasSlotsInUse(0))));
    const stopping = first.stop();
    // A stream that is not ended by the stop is cut off later, which is not a proper end.
    expect(await streams[0].ended).toBe(true);
    await stopping;
    expectOk(await site.register({ user: "ada" }));
    await streams[1].waitForStatus(hasSlotsInUse(1));
  });
});

describe("a status stream whose client does not read", () => {
  test("skips statuses instead of queueing them, and sends the newest once the client reads", async () => {
    const site = await openAppliance();
    const reply = expectOk(await site.status());
    const streams = new StatusStreams();
    let reads = 0;
    // More than the system buffers for a connection, and different each time.
    const status = async () => ({ ...reply, pid: (reads += 1), version: "v".repeat(8 * MIB) });
    const viewer = { gate: socketGate, isStillAdmitted: () => true, status };
    const server = Bun.serve({
      port: 0,
      idleTimeout: 255,
      fetch: async () => new Response(streams.open(viewer, await status())),
    });
    onTestFinished(() => server.stop(true));
    const socket = await openUnreadSocket(server.port ?? 0);
    await waitUntil(() => reads >= 12, "twelve reads of the status");
    const seen = await readPids(socket, reads + 1);
    // The first statuses were buffered. Those after them were skipped.
    expect(seen.slice(0, 3)).toEqual([1, 2, 3]);
    expect(seen.length).toBeLessThan(9);
  });
});

const MIB = 1024 * 1024;

/** Sends a request and does not read the reply. */
function openUnreadSocket(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port }, () => {
      socket.pause();
      socket.write(`GET ${STREAM_PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`, () => resolve(socket));
    });
    onTestFinished(() => void socket.destroy());
  });
}

/** Reads the buffered statuses until the one with pid `last`; returns the pids. */
function readPids(socket: Socket, last: number): Promise<number[]> {
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
