import { expect, onTestFinished, spyOn, test } from "bun:test";
import { withAccessLog } from "../../src/http/access-log.ts";
import { log } from "../../src/platform/log.ts";

interface LogLine {
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** A watched server without a network, its log, and its time, which is moved by hand. */
class LoggedServer {
  readonly lines: LogLine[] = [];
  status = 200;
  #now = 5_000_000;
  #replyGate: Promise<void> = Promise.resolve();
  readonly #fetch = withAccessLog(async () => {
    await this.#replyGate;
    return new Response(null, { status: this.status });
  }, "default");

  constructor() {
    const keep = (message: string, facts = {}): void => void this.lines.push({ message, facts });
    const spies = [
      spyOn(performance, "now").mockImplementation(() => this.#now),
      spyOn(log, "error").mockImplementation(keep),
      spyOn(log, "info").mockImplementation(keep),
    ];
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
    });
  }

  advanceTime(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** All of them at once; they are answered after so many milliseconds. */
  async sendRequests(times: number, took = 0): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replyGate = promise;
    const url = "http://localhost/api/v4/register";
    const answers = Array.from({ length: times }, async () =>
      this.#fetch(new Request(url, { method: "POST" })),
    );
    this.advanceTime(took);
    resolve();
    await Promise.all(answers);
  }
}

test("faults are logged ten times a second, and the next line says how many were left out", async () => {
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

test("slow requests are logged ten times a second as well", async () => {
  const server = new LoggedServer();
  await server.sendRequests(500, 1_000);
  expect(server.lines.map(({ message }) => message)).toEqual(
    Array.from({ length: 10 }, () => "slow request"),
  );
});

test("a flood of refusals does not hide a fault from the log", async () => {
  const server = new LoggedServer();
  server.status = 401;
  await server.sendRequests(100);
  server.status = 500;
  await server.sendRequests(1);
  expect(server.lines).toHaveLength(11);
  expect(server.lines.at(-1)).toMatchObject({ message: "server error", facts: { status: 500 } });
});
