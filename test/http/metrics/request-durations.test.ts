// The durations of requests, by the routes of the table and never by their paths.
import { expect, onTestFinished, test } from "bun:test";
import { listen } from "../../../src/http/server.ts";
import { openAppliance, OPEN_POLICY } from "../../support/appliance.ts";
import { parseExposition } from "../../support/parse-exposition.ts";

test("requests are counted by route and status class, and unknown paths share one route", async () => {
  const { services } = await openAppliance();
  const listener = listen({
    services,
    host: "127.0.0.1",
    port: 0,
    policy: { ...OPEN_POLICY, allowPlain: true },
  });
  onTestFinished(() => listener.stop());
  const send = async (path: string, init?: RequestInit): Promise<string> =>
    (await fetch(`${listener.address}${path}`, init)).text();
  await send("/api/v4/health");
  await send("/api/v4/health?user=ada");
  for (const path of ["/ada", "/bob/eve", "/api/v4/health/ada"]) await send(path);
  for (const name of ["ada.js", "bob.css"]) await send(`/assets/${name}`);
  const body = JSON.stringify({ user: "ada" });
  const headers = { "content-type": "application/json" };
  await send("/api/v4/register", { method: "POST", body, headers });
  await send("/api/v4/register", { method: "POST", body: "{", headers });
  await send("/api/v4/register", { method: "DELETE" });
  const family = parseExposition(await send("/metrics"), "text").find(
    ({ name }) => name === "berth_http_request_duration_seconds",
  );
  const counts = family?.samples
    .filter(({ name }) => name.endsWith("_count"))
    .map(({ labels, value }) => `${labels["route"]} ${labels["status"]} ${value}`);
  expect(counts?.toSorted()).toEqual([
    "/api/v4/health 2xx 2",
    "/api/v4/register 2xx 1",
    "/api/v4/register 4xx 1",
    "/assets/:name 4xx 2",
    "none 4xx 4",
  ]);
});
