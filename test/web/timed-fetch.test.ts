import { afterAll, describe, expect, test } from "bun:test";
import { ApiError } from "../../src/web/api-error.ts";
import { timedFetch, timeoutOf } from "../../src/web/timed-fetch.ts";

const server = Bun.serve({
  port: 0,
  fetch: ({ url }) =>
    url.endsWith("/ok") ? new Response("ok") : new Promise<Response>(() => undefined),
});
afterAll(() => server.stop(true));

const errorOf = (reply: Promise<unknown>): Promise<unknown> =>
  reply.then(
    () => null,
    (error: unknown) => error,
  );

describe("timedFetch", () => {
  test("returns the answer of a server that answers", async () => {
    expect(await (await timedFetch(`${server.url.href}ok`)).text()).toBe("ok");
  });

  test("gives up a read that is not answered in time", async () => {
    const error = await errorOf(timedFetch(`${server.url.href}hang`, { timeout: 20 }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "unreachable", status: 0 });
  });

  test("says that the outcome of a change is unknown if no answer comes", async () => {
    const init = { method: "POST", timeout: 20 };
    expect(await errorOf(timedFetch(`${server.url.href}release`, init))).toMatchObject({
      code: "outcome_unknown",
      message: expect.stringContaining("look again"),
    });
  });

  test("does not say so for a POST that changes nothing", async () => {
    const init = { method: "POST", timeout: 20 };
    expect(await errorOf(timedFetch(`${server.url.href}api/admin/v1/qr`, init))).toMatchObject({
      code: "unreachable",
    });
  });

  test("throws no ApiError for a request that the caller ended", async () => {
    const stop = new AbortController();
    const error = errorOf(timedFetch(`${server.url.href}hang`, { signal: stop.signal }));
    stop.abort();
    expect(await error).not.toBeInstanceOf(ApiError);
  });

  test("gives long requests more time than changes, and changes more than reads", () => {
    const [read, change, long] = [
      timeoutOf("GET", "/api/admin/v1/status"),
      timeoutOf("POST", "/api/v4/unregister"),
      timeoutOf("GET", "/api/admin/v1/doctor"),
    ];
    expect(read).toBeLessThan(change);
    expect(change).toBeLessThan(long);
  });

  test("gives all of the audit log as CSV as much time as its export", () => {
    const [csv, all] = ["csv", "export"].map((name) =>
      timeoutOf("GET", `/api/admin/v1/audit/${name}`),
    );
    expect(csv).toBe(all as number);
  });

  test("gives reading the list of backups less time than making one", () => {
    const list = timeoutOf("GET", "/api/admin/v1/backups");
    expect(list).toBe(timeoutOf("GET", "/api/admin/v1/status"));
    expect(list).toBeLessThan(timeoutOf("POST", "/api/admin/v1/backups"));
  });
});
