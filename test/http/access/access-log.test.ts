import { RequestDurations } from "../../../src/http/metrics/request-durations.ts";
import { expect, onTestFinished, spyOn, test } from "bun:test";
import { withAccessLog } from "../../../src/http/access/access-log.ts";
import { log } from "../../../src/platform/log.ts";

interface LogLine {
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** A server without a network whose log lines are captured and whose time is moved by hand. */
class LoggedServer {
  readonly lines: LogLine[] = [];
  status = 200;
  headers: Record<string, string> = {};
  #now = 5_000_000;
  #replyGate: Promise<void> = Promise.resolve();
  readonly #fetch = withAccessLog(
    async () => {
      await this.#replyGate;
      return new Response(null, { status: this.status, headers: this.headers });
    },
    "default",
    new RequestDurations(),
  );

  constructor() {
    const captureLine = (message: string, facts = {}): void =>
      void this.lines.push({ message, facts });
    const spies = [
      spyOn(performance, "now").mockImplementation(() => this.#now),
      spyOn(log, "error").mockImplementation(captureLine),
      spyOn(log, "info").mockImplementation(captureLine),
    ];
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
    });
  }

  advanceTime(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Sends all requests at once; every reply comes after `replyDelay` milliseconds. */
  async sendRequests(count: number, replyDelay = 0): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replyGate = promise;
    const url = "http://localhost/api/v4/register";
    const replies = Array.from({ length: count }, async () =>
      this.#fetch(new Request(url, { method: "POST" })),
    );
    this.advanceTime(replyDelay);
    resolve();
    await Promise.all(replies);
  }
}

test("the access log takes ten server errors a second, and the next line counts the suppressed ones", async () => {
  const server = new LoggedServer();
  server.status = 503;
  await server.sendRequests(5_000);
  expect(server.lines).toHaveLength(10);
  expect(server.lines[0]).toMatchObject({ message: "server error", facts: { status: 503 } });
  expect(server.lines[0]?.facts).not.toHaveProperty("suppressed");
  server.advanceTime(1_000);
  await server.sendRequests(11);
  expect(server.lines).toHaveLength(20);
  expect(server.lines[10]?.facts).toMatchObject({ status: 503, suppressed: 4_990 });
  server.advanceTime(1_000);
  await server.sendRequests(1);
  expect(server.lines[20]?.facts).toMatchObject({ status: 503, suppressed: 1 });
});

test("the access log does not show that a host on standby names the leader", async () => {
  const server = new LoggedServer();
  server.status = 503;
  server.headers = { "berth-leader": "https://license1:8443" };
  await server.sendRequests(3);
  expect(server.lines).toEqual([]);
});

test("the access log takes ten slow requests a second", async () => {
  const server = new LoggedServer();
  await server.sendRequests(500, 1_000);
  expect(server.lines.map(({ message }) => message)).toEqual(
    Array.from({ length: 10 }, () => "slow request"),
  );
});

test("the access log still shows a server error during a flood of refusals", async () => {
  const server = new LoggedServer();
  server.status = 401;
  await server.sendRequests(100);
  server.status = 500;
  await server.sendRequests(1);
  expect(server.lines).toHaveLength(11);
  expect(server.lines.at(-1)).toMatchObject({ message: "server error", facts: { status: 500 } });
});

test("requests that wait for a slot are not among the concurrent requests that are limited", async () => {
  const waiting = { count: 0 };
  const { promise, resolve } = Promise.withResolvers<Response>();
  const fetch = withAccessLog(() => promise, "default", new RequestDurations(), waiting);
  const request = new Request("http://localhost/metrics");
  const replies = Array.from({ length: 20_000 }, () => fetch(request));
  expect((await fetch(request)).status).toBe(429);
  waiting.count = 1;
  replies.push(fetch(request));
  resolve(new Response(null, { status: 204 }));
  expect((await replies.at(-1))?.status).toBe(204);
});

test("requests whose handler throws at once do not stay counted as concurrent", async () => {
  const fetch = withAccessLog(
    () => {
      throw new Error("a bug");
    },
    "default",
    new RequestDurations(),
  );
  const request = new Request("http://localhost/metrics");
  for (let count = 0; count <= 20_000; count += 1) expect(() => fetch(request)).toThrow("a bug");
});
