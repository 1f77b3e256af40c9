// How long `berth run` waits for servers that do not answer. No time passes here: the test decides
// which call times out.
import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { LicenseClient } from "../../../src/cli/run/license-client.ts";
import { runOptions } from "../../../src/cli/run/run-options.ts";
import { scriptedServer } from "../../support/run-wrapper.ts";
import { granted, type ScriptedServer } from "../../support/scripted-server.ts";

const timeout = spyOn(AbortSignal, "timeout");
afterEach(() => timeout.mockReset());
afterAll(() => timeout.mockRestore());

const SECOND = 1_000;
const NEVER = new AbortController().signal;

const silent = (): ScriptedServer => scriptedServer(() => new Promise<Response>(() => {}));
const answering = (): ScriptedServer => scriptedServer(() => granted());

interface RegisterOptions {
  /** The calls that time out at once, by their number from 0. */
  readonly timedOut: readonly number[];
  readonly wait: number | null;
  /** Seconds that the caller has. */
  readonly left: number;
}

/** Calls `register`, and returns the time limits of its calls in seconds. */
async function register(
  servers: readonly Pick<ScriptedServer, "url">[],
  { timedOut = [], wait = null, left = Infinity }: Partial<RegisterOptions>,
) {
  const limits: number[] = [];
  timeout.mockImplementation((milliseconds) => {
    limits.push(Math.round(milliseconds / SECOND));
    return timedOut.includes(limits.length - 1)
      ? AbortSignal.abort(new DOMException("", "TimeoutError"))
      : NEVER;
  });
  const client = new LicenseClient({
    servers: servers.map(({ url }) => url),
    fields: { product: "CAD", user: "ada" },
    login: null,
    tls: { ca: [], certificate: null },
  });
  const outcome = await client.register(wait, NEVER, performance.now() + left * SECOND);
  return { limits, outcome };
}

describe("LicenseClient.register", () => {
  test("gives the only server 15 seconds, besides the time that the request waits", async () => {
    expect((await register([answering()], {})).limits).toEqual([15]);
    expect((await register([answering()], { wait: 50 })).limits).toEqual([65]);
  });

  test("gives it no longer than the caller has, but 2 seconds in any case", async () => {
    expect((await register([answering()], { wait: 0, left: 3 })).limits).toEqual([3]);
    expect((await register([answering()], { wait: 3, left: 3 })).limits).toEqual([5]);
    expect((await register([answering()], { wait: 0, left: 0 })).limits).toEqual([2]);
  });

  test("tries the second server after 3 seconds without an answer of the first", async () => {
    const [first, second] = [silent(), answering()];
    const { limits, outcome } = await register([first, second], { timedOut: [0] });
    expect(limits).toEqual([3, 3]);
    expect(outcome).toMatchObject({ kind: "granted", slot: { server: second.url } });
  });

  test("gives a slow server 15 seconds when no other one could decide", async () => {
    const slow = answering();
    const servers = [slow, { url: "http://127.0.0.1:1" }];
    const { limits, outcome } = await register(servers, { timedOut: [0] });
    expect(limits).toEqual([3, 3, 15]);
    expect(outcome).toMatchObject({ kind: "granted", slot: { server: slow.url } });
  });

  test("names each server once if none of them answers", async () => {
    const servers = [silent(), silent()];
    const { limits, outcome } = await register(servers, { timedOut: [0, 1, 2, 3] });
    expect(limits).toEqual([3, 3, 15, 15]);
    expect(outcome).toEqual({
      kind: "unanswered",
      reasons: servers.map(({ url }) => `${url} does not answer: timed out`),
      isTakeover: false,
      tlsFaults: [],
    });
  });

  test("calls a server below a path of its address", async () => {
    const server = answering();
    const parsed = runOptions.server.parse(`${server.url}/license/`);
    expect(parsed).toEqual({ ok: true, value: `${server.url}/license` });
    const { outcome } = await register([{ url: `${server.url}/license` }], {});
    expect(outcome.kind).toBe("granted");
  });

  test("believes no time-out that is so short that the heartbeats would be a flood", async () => {
    const { outcome } = await register([scriptedServer(() => granted(1e-9))], {});
    expect(outcome.kind).toBe("unanswered");
  });
});
