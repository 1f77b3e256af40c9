import { describe, expect, spyOn, test } from "bun:test";
import { RequestDurations } from "../../src/http/metrics/request-durations.ts";
import type { Services } from "../../src/http/services.ts";
import type { AccessControl } from "../../src/operations/access/access-control.ts";
import type { Identity } from "../../src/operations/appliance/identity.ts";
import {
  Appliance,
  expectOk,
  expectRefusal,
  openAppliance,
  openSharedAppliance,
  type ApiResponse,
  type RequestFields,
} from "../support/appliance.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { instant } from "../../src/domain/time.ts";

tellNoSlowSyncs();

const MARK = "s3cr3t-Input";

/** Requests with the mark in every value and key. The mark must not appear in the reply. */
const HOSTILE: readonly [string, (site: Appliance) => Promise<ApiResponse<unknown>>][] = [
  ["an unknown path", (site) => site.get(`/api/v4/${MARK}?${MARK}=${MARK}`)],
  ["a wrong method", (site) => site.send("PUT", "/api/v4/register", { body: MARK })],
  ["an unknown product", (site) => site.register({ user: MARK, product: MARK })],
  ["an unknown user", (site) => site.unregister({ user: MARK })],
  ["an unknown feature", (site) => site.addFeatureConsumption({ feature: MARK })],
  ["a wrong type", (site) => site.register({ user: { [MARK]: MARK }, [MARK]: MARK })],
  ["a wrong number", (site) => site.addConsumption({ consumptions: MARK })],
  ["a wrong limit", (site) => site.addConsumption({ max_overages: MARK })],
  ["a wrong boolean", (site) => site.addConsumption({ allow_overages: MARK })],
  ["a wrong time", (site) => site.borrow({ user: "ada", borrowed_until: MARK })],
  ["a wrong id", (site) => site.register({ user: "ada", license_id: MARK })],
  ["wrong characters", (site) => site.register({ user: `${MARK}\u0000` })],
  ["too long a name", (site) => site.register({ user: MARK.repeat(50) })],
  ["a wrong document", (site) => site.upload(`${MARK}.${MARK}.${MARK}`)],
  ["a wrong nonce", (site) => site.register({ user: "ada" }, { "x-nonce": `${MARK} ${MARK}` })],
  ["a wrong key", (site) => site.borrow({ user: "ada" }, { "idempotency-key": `${MARK} x` })],
  ["a wrong query", (site) => site.license(`?license_id=${MARK}&product=${MARK}`)],
  ["a wrong host", (site) => site.get("/api/v4/health", { host: `${MARK},${MARK}` })],
  ["a foreign origin", (site) => site.get("/api/v4/health", { origin: `http://${MARK}` })],
  [
    "broken JSON",
    (site) =>
      site.send("POST", "/api/v4/register", {
        body: `{"${MARK}": ${MARK}`,
        headers: { "content-type": "application/json" },
      }),
  ],
  [
    "a wrong content type",
    (site) =>
      site.send("POST", "/api/v4/register", { body: MARK, headers: { "content-type": MARK } }),
  ],
];

/** For refusals only. */
const sharedSite = openSharedAppliance();

test.each(HOSTILE)(
  "a request with %s is refused without repeating its values",
  async (_what, call) => {
    const site = sharedSite();
    const [response, body] = await call(site);
    const { status, code } = body as { status: number; code: string };
    expect(status).toBeWithin(400, 500);
    expectRefusal([response, body], status, code);
    // This header repeats names of fields and never values; see ignored-fields.test.ts.
    response.headers.delete("x-ignored-fields");
    const replyText = JSON.stringify([body, ...response.headers]).toLowerCase();
    expect(replyText).not.toContain(MARK.toLowerCase());
  },
);

describe("every reply", () => {
  const REPLIES: readonly [string, (site: Appliance) => Promise<ApiResponse<unknown>>][] = [
    ["a success", (site) => site.register({ user: "ada" })],
    ["a text reply", (site) => site.unregister({ user: "bob" })],
    ["an empty reply", (site) => site.get("/api/v4/unregister/all")],
    ["health", (site) => site.get("/api/v4/health")],
    ["a refusal by the licensing rules", (site) => site.register({})],
    [
      "a refusal by the body reader",
      (site) => site.send("POST", "/api/v4/register", { body: "x" }),
    ],
    ["a refusal by the gate", (site) => site.get("/", { host: "" })],
    ["404", (site) => site.get("/nothing")],
    ["405", (site) => site.send("DELETE", "/")],
  ];

  test.each(REPLIES)(
    "has Cache-Control: no-store, the appliance's ID and a unique request ID: %s",
    async (_what, call) => {
      const site = await openAppliance();
      expectOk(await site.register({ user: "bob" }));
      const [first] = await call(site);
      const [second] = await site.get("/api/v4/health");
      for (const { headers } of [first, second]) {
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("x-content-type-options")).toBe("nosniff");
        expect(headers.get("berth-appliance")).toBe(site.services.identity.id);
        expect(headers.get("x-request-id")).toMatch(/^[\w-]{1,64}$/);
      }
      expect(first.headers.get("x-request-id")).not.toBe(second.headers.get("x-request-id"));
    },
  );

  test("with JSON has the content type application/json", async () => {
    const site = await openAppliance();
    for (const [response] of [await site.register({ user: "ada" }), await site.license()]) {
      expect(response.headers.get("content-type")).toMatch(/^application\/json(?:;|$)/);
    }
  });
});

describe("the path of a request", () => {
  test.each([
    "//",
    "//api/v4/health",
    "/api//v4/health",
    "/API/",
    "/API/v4/health",
    "/api/V4/health",
    "/api/v4/health/",
    "/api/v4/Health",
    "/api/v4/healt%68",
    "/api/v4/health%00",
    "/api/v4/health;x=1",
    "/api/v4/health%2f",
    "/api/v4/%2e%2e/v4/health%20",
    "/api/v4",
    "/api/v4/",
    "/api/v5/ping",
    "/api/v5/health",
    "/api/v4/ping",
    "/api/admin/v1",
    "/api/admin/v1/",
    "/api/admin/v1/status/",
    "/api/v4/*",
    "/index.html",
    "/favicon.ico",
    "/__proto__",
    "/constructor",
    "/toString",
  ])("is 404 when it differs from the route table: %s", async (path) => {
    const site = sharedSite();
    for (const method of ["GET", "POST", "HEAD", "OPTIONS"]) {
      expectRefusal(await site.send(method, path), 404, "not_found");
    }
  });

  test("/api/v5/ping is not answered with pong", async () => {
    const site = await openAppliance();
    const [, body] = await site.get("/api/v5/ping");
    expect(JSON.stringify(body)).not.toContain("pong");
  });

  test.each(["/?x=/nothing", "/api/v4/health?", "/api/v4/health?a=b?c//d"])(
    "is matched without its query: %s",
    async (path) => {
      const site = await openAppliance();
      expectOk(await site.get(path));
    },
  );

  test.each(["a", "lic", "srv"])("is found on a server with the short name %s", async (name) => {
    const site = await openAppliance();
    const request = new Request(`http://${name}/api/v4/health`, { headers: { host: name } });
    const response = await site.app.handle(request);
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });
});

describe("HEAD", () => {
  test("of a GET with side effects is 405 and changes nothing", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const written = site.lastSeq();
    for (const path of [
      "/api/v4/unregister/all",
      "/api/v4/check_license_feature?user=ada&feature=view",
      "/api/v4/featureRelease/all",
    ]) {
      const [response] = await site.send("HEAD", path);
      expect([path, response.status]).toEqual([path, 405]);
    }
    expect(site.lastSeq()).toBe(written);
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});

describe("an internal error", () => {
  const SECRET = "p4ssw0rd at /srv/berth/credentials.sealed";
  const throwSecret = (): never => {
    throw new Error(SECRET, { cause: new TypeError(SECRET) });
  };
  const CALLS: readonly [string, (site: Appliance) => Promise<ApiResponse<unknown>>][] = [
    ["register", (site) => site.register({ user: "ada" })],
    ["license", (site) => site.license()],
    ["health", (site) => site.get("/api/v4/health")],
    ["status", (site) => site.status()],
    ["audit", (site) => site.get("/api/admin/v1/audit")],
    ["license/generate", (site) => site.post("license/generate", {})],
    ["featureRelease/all", (site) => site.get("/api/v4/featureRelease/all")],
  ];

  test.each(CALLS)(
    "in %s is 500 internal_error without details, which only the log has",
    async (_call, call) => {
      // Every method of these services throws.
      const broken = new Proxy({}, { get: () => throwSecret });
      const { services: working } = await openAppliance();
      const services: Services = {
        ...working,
        ...(Object.fromEntries(Object.keys(working).map((name) => [name, broken])) as object),
        leadership: null,
        sharedFiles: null,
        requestDurations: new RequestDurations(),
        identity: { id: "0123456789ABCDEF" } as Identity,
        access: { isClaimed: () => false } as AccessControl,
        commandLine: { executable: "berth", needsSudo: false, dataFolder: "" },
        serverAccess: () => null,
        fullCheck: () => null,
        certificate: () => null,
        siteSettings: throwSecret,
        runningServer: null,
        close: async () => {},
      };
      const site = new Appliance(services, { now: instant(0) }, "");
      const logged: string[] = [];
      const stderr = spyOn(process.stderr, "write").mockImplementation((text) => {
        logged.push(String(text));
        return true;
      });
      const [response, body] = await call(site).finally(() => stderr.mockRestore());
      expectRefusal([response, body], 500, "internal_error");
      const replyText = JSON.stringify([body, ...response.headers]);
      for (const leak of ["p4ssw0rd", "credentials", "Error", ".ts", "at "]) {
        expect(replyText).not.toContain(leak);
      }
      expect(logged).toHaveLength(1);
      const line = JSON.parse(logged[0] ?? "") as RequestFields;
      expect(line).toMatchObject({
        level: "error",
        request_id: response.headers.get("x-request-id"),
        error: { error: SECRET },
      });
    },
  );

  test("is not logged for a refusal", async () => {
    const site = await openAppliance();
    const stderr = spyOn(process.stderr, "write").mockImplementation(() => true);
    await site.register({}).finally(() => stderr.mockRestore());
    expect(stderr).not.toHaveBeenCalled();
  });
});
