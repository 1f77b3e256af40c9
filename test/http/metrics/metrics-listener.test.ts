// The listener of `metrics_listen`: it serves the metrics without a credential, and nothing else.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { listenForMetrics } from "../../../src/http/metrics/metrics-listener.ts";
import { log } from "../../../src/platform/log.ts";
import { openAppliance } from "../../support/appliance.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { parseExposition } from "../../support/parse-exposition.ts";
import { routes } from "../../support/routes.ts";

async function listen() {
  const site = await openAppliance();
  unwrap(await site.services.access.createToken("ops", null, "test"));
  const listener = listenForMetrics({
    sources: site.services,
    host: "127.0.0.1",
    port: 0,
    serverNames: ["berth.plant7.lan"],
    logMode: "default",
  });
  onTestFinished(() => listener.stop());
  const send = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`${listener.address}${path}`, init);
  return { site, send };
}

describe("the listener for metrics", () => {
  test("serves both formats without a token, although the administration needs one", async () => {
    const { send } = await listen();
    const text = await send("/metrics");
    expect(text.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(parseExposition(await text.text(), "text").length).toBeGreaterThan(20);
    const openmetrics = await send("/metrics?x=1", {
      headers: { accept: "application/openmetrics-text" },
    });
    expect(openmetrics.headers.get("content-type")).toStartWith("application/openmetrics-text");
    expect(openmetrics.headers.get("cache-control")).toBe("no-store");
    parseExposition(await openmetrics.text(), "openmetrics");
  });

  test("refuses every route of the server with 404", async () => {
    const { send, site } = await listen();
    const before = site.lastSeq();
    for (const [path, methods] of routes) {
      if (path === "/metrics") continue;
      for (const method of Object.keys(methods)) {
        const { status } = await send(path, { method });
        expect([method, path, status]).toEqual([method, path, 404]);
      }
    }
    for (const path of ["/", "/metrics/", "/Metrics", "/%6detrics", "/metrics%00"]) {
      expect([path, (await send(path)).status]).toEqual([path, 404]);
    }
    expect(site.lastSeq()).toBe(before);
  });

  test.each(["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])("refuses %s with 405", async (method) => {
    const { send } = await listen();
    const response = await send("/metrics", { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
  });

  test.each([
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ origin: "https://evil.example" }, 403],
    [{ "user-agent": "Mozilla/5.0 (X11) Gecko/20100101 Firefox/1", host: "evil.example" }, 421],
  ] as const)("refuses a page of another site: %p", async (headers, status) => {
    const { send } = await listen();
    const response = await send("/metrics", { headers: { ...headers } });
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain("berth_build");
  });

  test("says only that there is an internal error, and logs what it is", async () => {
    const { send, site } = await listen();
    const logged = spyOn(log, "error").mockImplementation(() => undefined);
    onTestFinished(() => logged.mockRestore());
    const bug = new Error("detail of a bug");
    site.services.metrics.read = () => {
      throw bug;
    };
    const response = await send("/metrics");
    expect(response.status).toBe(500);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ code: "internal_error" });
    expect(body).not.toContain("detail");
    expect(logged).toHaveBeenCalledWith("internal error", { error: bug });
  });

  test("gives the same answer for a second, so that a loop does not slow down the server", async () => {
    const { send, site } = await listen();
    let reads = 0;
    const { metrics } = site.services;
    const read = metrics.read.bind(metrics);
    metrics.read = () => {
      reads += 1;
      return read();
    };
    const startedAt = performance.now();
    for (let request = 0; request < 50; request += 1) await (await send("/metrics")).text();
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(reads).toBeWithin(1, Math.ceil(seconds) + 2);
  });
});
