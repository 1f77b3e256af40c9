// GET /metrics: what it says of a site in use, who may read it, and what it never names.
import { describe, expect, test } from "bun:test";
import { METRICS } from "../../../../src/operations/metrics/catalogue.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
  type RequestHeaders,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import {
  parseExposition,
  seriesKey,
  type ParsedSample,
} from "../../../support/parse-exposition.ts";
import { routes } from "../../../support/routes.ts";
import { featureTerms, hoursLater, minutesLater } from "../../../support/scenario.ts";

const bearer = (token: string): RequestHeaders => ({ authorization: `Bearer ${token}` });

const OPENMETRICS = { accept: "application/openmetrics-text" };

async function scrape(site: Appliance): Promise<ParsedSample[]> {
  const [response, text] = await site.get<string>("/metrics", OPENMETRICS);
  expect(response.status).toBe(200);
  return parseExposition(text, "openmetrics").flatMap(({ samples }) => samples);
}

function valueOf(
  samples: readonly ParsedSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null {
  const found = samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  expect([name, found.length]).toBeOneOf([
    [name, 0],
    [name, 1],
  ]);
  return found[0]?.value ?? null;
}

const floating = (slots: number) => ({ floating: { slots, timeoutMinutes: 30 } });

const TERMS = {
  slots: 3,
  borrowHours: 100,
  earlyReturn: true,
  consumption: { max: 50, overages: 5, negative: false, period: null },
  features: [
    { ...featureTerms("render"), ...floating(1) },
    {
      ...featureTerms("export"),
      consumption: { max: 7, overages: 0, negative: false, period: null },
    },
  ],
};

const LICENSE = { product: "cad", license: "1" };

async function openSite(): Promise<Appliance> {
  return openAppliance({ licenses: { 1: TERMS } });
}

describe("GET /metrics", () => {
  test("begins with counters at zero and the time of their creation", async () => {
    const samples = await scrape(await openSite());
    const startedAt = valueOf(samples, "berth_process_start_time_seconds");
    expect(startedAt).toBe(Math.round(performance.timeOrigin) / 1_000);
    const totals = samples.filter(({ name }) => name.endsWith("_total") && !name.includes("_cpu_"));
    expect(totals.length).toBeGreaterThan(5);
    for (const { name, labels, value } of totals) {
      expect([name, value]).toEqual([name, 0]);
      expect(valueOf(samples, name.replace(/_total$/, "_created"), labels)).toBe(startedAt);
    }
  });

  test("counts slots, borrows, grants and releases of a license by cause", async () => {
    const site = await openSite();
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user }));
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.borrow({ user: "eve", borrowed_until: "2026-03-04T11:00:00Z" }));
    expectRefusal(await site.register({ user: "dan" }), 400, "floating_not_available");
    expectOk(await site.unregister({ user: "bob" }));
    const before = await scrape(site);
    expect(valueOf(before, "berth_license_slots", LICENSE)).toBe(3);
    expect(valueOf(before, "berth_license_slots_in_use", LICENSE)).toBe(2);
    expect(valueOf(before, "berth_license_slots_borrowed", LICENSE)).toBe(1);
    expect(valueOf(before, "berth_license_slots_peak", LICENSE)).toBe(3);
    expect(valueOf(before, "berth_license_grants_total", LICENSE)).toBe(3);
    expect(valueOf(before, "berth_license_valid", LICENSE)).toBe(1);
    site.clock.now = hoursLater(40);
    expectOk(await site.register({ user: "fay" }));
    expectOk(await site.post("/api/admin/v1/registrations/release", { user: "fay" }));
    const after = await scrape(site);
    const causes = ["user", "admin", "expiry"].map((cause) =>
      valueOf(after, "berth_license_releases_total", { ...LICENSE, cause }),
    );
    expect(causes).toEqual([1, 1, 1]);
    expect(valueOf(after, "berth_license_slots_in_use", LICENSE)).toBe(1);
    site.clock.now = hoursLater(51);
    expect(valueOf(await scrape(site), "berth_license_slots_borrowed", LICENSE)).toBe(0);
  });

  test("counts refusals by code, those of a feature apart from those of the product", async () => {
    const site = await openSite();
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user }));
    expectOk(await site.featureRegister({ user: "ada", feature: "render" }));
    const refused = await site.featureRegister({ user: "bob", feature: "render" });
    expectRefusal(refused, 400, "floating_not_available");
    expectRefusal(await site.register({ product: "nope", user: "x" }), 400, "unknown_product");
    const samples = await scrape(site);
    const refusals = (product: string, scope: string, code: string) =>
      valueOf(samples, "berth_refusals_total", { product, scope, code });
    expect(refusals("cad", "feature", "floating_not_available")).toBe(1);
    expect(refusals("cad", "product", "floating_not_available")).toBe(0);
    expect(refusals("", "product", "unknown_product")).toBe(1);
    const render = { product: "cad", feature: "render" };
    expect(valueOf(samples, "berth_feature_slots_in_use", render)).toBe(1);
    expect(valueOf(samples, "berth_feature_slots_peak", render)).toBe(1);
    expect(valueOf(samples, "berth_feature_grants_total", render)).toBe(1);
    const expired = { product: "cad", cause: "user" };
    expect(valueOf(samples, "berth_feature_releases_total", expired)).toBe(0);
    expectOk(await site.featureRelease({ user: "ada", feature: "render" }));
    expect(valueOf(await scrape(site), "berth_feature_releases_total", expired)).toBe(1);
  });

  test("counts 50 retries of one person as one denied episode, and how it ended", async () => {
    const site = await openSite();
    for (const user of ["ada", "bob", "eve"]) expectOk(await site.register({ user }));
    expectOk(await site.featureRegister({ user: "ada", feature: "render" }));
    for (let retry = 0; retry < 50; retry += 1) await site.register({ user: "dan" });
    for (const user of ["bob", "eve"]) await site.featureRegister({ user, feature: "render" });
    const before = await scrape(site);
    expect(valueOf(before, "berth_denied_episodes_total", { product: "cad" })).toBe(1);
    const render = { product: "cad", feature: "render" };
    expect(valueOf(before, "berth_feature_denied_episodes_total", render)).toBe(2);
    const granted = { product: "cad", outcome: "granted" };
    expect(valueOf(before, "berth_denied_episodes_ended_total", granted)).toBe(0);
    expectOk(await site.unregister({ user: "bob" }));
    expectOk(await site.register({ user: "dan" }));
    expect(valueOf(await scrape(site), "berth_denied_episodes_ended_total", granted)).toBe(1);
  });

  test("shows consumption of licenses and features, and their limits", async () => {
    const site = await openSite();
    expectOk(await site.addConsumption({ consumptions: "4" }));
    expectOk(await site.addFeatureConsumption({ feature: "export", consumptions: "2" }));
    const samples = await scrape(site);
    expect(valueOf(samples, "berth_license_consumption", LICENSE)).toBe(4);
    expect(valueOf(samples, "berth_license_consumption_limit", LICENSE)).toBe(50);
    const feature = { product: "cad", feature: "export" };
    expect(valueOf(samples, "berth_feature_consumption", feature)).toBe(2);
    expect(valueOf(samples, "berth_feature_consumption_limit", feature)).toBe(7);
    expect(valueOf(samples, "berth_feature_slots", feature)).toBeNull();
  });

  test("shows when a license ends, and that it refuses afterwards", async () => {
    const validUntil = minutesLater(10);
    const site = await openAppliance({
      licenses: { 1: { type: "time-limited", validUntil, graceHours: 1 } },
    });
    const end = (validUntil + 3_600_000) / 1_000;
    const before = await scrape(site);
    expect(valueOf(before, "berth_license_end_timestamp_seconds", LICENSE)).toBe(end);
    site.clock.now = hoursLater(2);
    expect(valueOf(await scrape(site), "berth_license_valid", LICENSE)).toBe(0);
  });

  test("has the same samples in both formats, and declares only metrics of the catalogue", async () => {
    const site = await openSite();
    expectOk(await site.register({ user: "ada" }));
    const names = new Set<string>(Object.values(METRICS).map(({ name }) => name));
    const [, openmetrics] = await site.get<string>("/metrics", OPENMETRICS);
    const [response, text] = await site.get<string>("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const families = parseExposition(openmetrics, "openmetrics");
    for (const { name } of families) expect(names).toContain(name);
    const keysOf = (list: ReturnType<typeof parseExposition>): string[] =>
      list
        .flatMap(({ samples }) => samples)
        .map((sample) => seriesKey({ ...sample, labels: { ...sample.labels, le: "" } }))
        .toSorted();
    expect(keysOf(parseExposition(text, "text"))).toEqual(keysOf(families));
  });

  test("shows the first 200 features by name, and the rest as other", async () => {
    const features = Array.from({ length: 230 }, (_, n) => ({
      ...featureTerms(`f${String(n).padStart(3, "0")}`),
      ...floating(2),
    }));
    const site = await openAppliance({ licenses: { 1: { ...TERMS, features } } });
    expectOk(await site.register({ user: "ada" }));
    for (const feature of ["f000", "f199", "f200", "f229"]) {
      expectOk(await site.featureRegister({ user: "ada", feature }));
    }
    const samples = await scrape(site);
    const slots = samples.filter(({ name }) => name === "berth_feature_slots");
    expect(slots.length).toBe(201);
    expect(slots.at(-1)).toMatchObject({ labels: { product: "", feature: "other" }, value: 60 });
    const inUse = (feature: string) => valueOf(samples, "berth_feature_slots_in_use", { feature });
    expect(["f000", "f199", "f200", "other"].map(inUse)).toEqual([1, 1, null, 2]);
    expect(valueOf(samples, "berth_feature_grants_total", { feature: "other" })).toBe(2);
  });
});

describe("the labels of GET /metrics", () => {
  test("name no user, host, address or other text of a hostile site's requests", async () => {
    const site = await openSite();
    const canary = "kanarienvogel";
    const hostile = `${canary}"} 1\n# EOF\n`;
    site.peer = "10.99.88.77";
    const fields = {
      user: `${canary}-user`,
      hostname: `${canary}-host`,
      user_info: `${canary}-info`,
    };
    expectOk(await site.register(fields));
    await site.register({ user: hostile, product: hostile });
    await site.featureRegister({ user: `${canary}-user`, feature: `${canary}-feature` });
    await site.addConsumption({ consumptions: canary });
    await site.get(`/${canary}/..%2f`);
    await site.get(`/assets/${canary}.js`);
    await site.send(canary.toUpperCase(), "/api/v4/register");
    site.peer = "127.0.0.1";
    const { access } = site.services;
    unwrap(await access.createToken(`${canary}-token`, null, "test"));
    const { token } = unwrap(await access.createToken("prom", null, "test", "metrics"));
    for (const accept of [OPENMETRICS.accept, "text/plain"]) {
      const [, text] = await site.get<string>("/metrics", { accept, ...bearer(token) });
      expect(text.toLowerCase()).not.toContain(canary);
      expect(text).not.toContain("10.99.88.77");
      expect(text).not.toContain("127.0.0.1");
    }
  });
});

describe("a token with the role metrics", () => {
  async function openWithToken(options = {}) {
    const site = await openAppliance(options);
    const { access } = site.services;
    unwrap(await access.createToken("ops", null, "test"));
    const { token } = unwrap(await access.createToken("prom", null, "test", "metrics"));
    return { site, token };
  }

  test("reads /metrics, which is refused without a token", async () => {
    const { site, token } = await openWithToken();
    expectRefusal(await site.get("/metrics"), 401, "unauthorized");
    expect((await site.get("/metrics", bearer(token)))[0].status).toBe(200);
  });

  test("does not read /metrics from outside the networks of the administration", async () => {
    const { site, token } = await openWithToken();
    site.peer = "203.0.113.9";
    expectRefusal(await site.get("/metrics", bearer(token)), 403, "forbidden");
  });

  const others = [...routes]
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, plane]) => ({ method, path, plane })),
    )
    .filter(({ path, plane }) => path !== "/metrics" && (plane === "admin" || plane === "client"));

  test("is refused on every other route that takes a credential, and changes nothing", async () => {
    const { site, token } = await openWithToken({ gate: { clientAuth: "login" } });
    const before = site.lastSeq();
    expect(others.length).toBeGreaterThan(50);
    for (const { method, path } of others) {
      const reply = await site.send(method, path, { headers: bearer(token) });
      expect([path, expectRefusal(reply, 403, "forbidden")]).toEqual([
        path,
        "this token has the role metrics: it can read /metrics and nothing else",
      ]);
    }
    expect(site.lastSeq()).toBe(before);
  });

  test("alone does not close the administration on the machine", async () => {
    const site = await openAppliance();
    const { access } = site.services;
    unwrap(await access.createToken("prom", null, "test", "metrics"));
    expect(access.isClaimed()).toBe(false);
  });
});
