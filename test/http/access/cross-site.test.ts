import { describe, expect, test } from "bun:test";
import { socketGate } from "../../../src/http/access/gate.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  openSharedAppliance,
  type RequestHeaders,
} from "../../support/appliance.ts";

const HOST = "127.0.0.1:8080";

const FOREIGN: readonly RequestHeaders[] = [
  { origin: "http://evil.example" },
  { origin: "null" },
  { origin: "" },
  { origin: `https://${HOST}` },
  { origin: "http://127.0.0.1" },
  { origin: "http://127.0.0.1:8081" },
  { origin: `http://${HOST}.evil.example` },
  { origin: `http://${HOST}/` },
  { origin: "http://localhost:8080" },
  { origin: `http://${HOST}, http://evil.example` },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "" },
  { "sec-fetch-site": "anything" },
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
  { "sec-fetch-site": "cross-site", origin: `http://${HOST}` },
  { "sec-fetch-site": "same-origin", origin: "http://evil.example" },
];

const SAME_SITE: readonly RequestHeaders[] = [
  {},
  { origin: `http://${HOST}` },
  { origin: `HTTP://${HOST}` },
  { "sec-fetch-site": "same-origin" },
  { "sec-fetch-site": "none" },
  { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", origin: `http://${HOST}` },
  // Node's fetch sends this alone.
  { "sec-fetch-mode": "cors" },
  { "sec-fetch-mode": "no-cors" },
  { referer: `http://${HOST}/` },
];

const sharedSite = openSharedAppliance();

test.each(FOREIGN)("a request from another site's page is refused: %j", async (headers) => {
  const site = sharedSite();
  const written = site.lastSeq();
  expectRefusal(await site.register({ user: "ada" }, headers), 403, "cross_site");
  expectRefusal(await site.get("/api/v4/license", headers), 403, "cross_site");
  expectRefusal(await site.get("/api/v4/unregister/all", headers), 403, "cross_site");
  expectRefusal(await site.get("/api/v4/health", headers), 403, "cross_site");
  expectRefusal(await site.get("/", headers), 403, "cross_site");
  expect(site.lastSeq()).toBe(written);
});

// Over plain HTTP in a local network, an image or a link reveals its page by Referer only.
test.each(["http://evil.example/", `http://${HOST}.evil.example/`])(
  "a link on %s may lead to the page, and to no other path",
  async (referer) => {
    const site = sharedSite();
    const written = site.lastSeq();
    for (const path of ["license", "unregister/all", "check_license_feature"]) {
      expectRefusal(await site.get(`/api/v4/${path}`, { referer }), 403, "cross_site");
    }
    expectOk(await site.get("/", { referer }));
    expect(site.lastSeq()).toBe(written);
  },
);

test.each(SAME_SITE)(
  "a request from the server's own page or from a program is accepted: %j",
  async (headers) => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }, headers));
    expectOk(await site.get("/api/admin/v1/status", headers));
    expectOk(await site.get("/", headers));
  },
);

const BROWSERS = [
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
  "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
];

// Over plain HTTP to a network address no browser sends Sec-Fetch headers, and a page can suppress
// Referer.
describe.each(BROWSERS)("a browser without Origin, Referer and Sec-Fetch headers: %s", (agent) => {
  const browserOnly = { "user-agent": agent };

  test("gets the page, and nothing else", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const written = site.lastSeq();
    for (const path of ["license", "health", "unregister/all", "setKeys?apiKey=a"]) {
      expectRefusal(await site.get(`/api/v4/${path}`, browserOnly), 403, "cross_site");
    }
    expectOk(await site.get("/", browserOnly));
    expect(site.lastSeq()).toBe(written);
  });

  test("is accepted with the Referer or Origin of the server's own page", async () => {
    const site = await openAppliance();
    const page = { ...browserOnly, referer: `http://${HOST}/` };
    expectOk(await site.get("/api/v4/license", page));
    expectOk(await site.get("/api/v4/unregister/all", page));
    expectOk(await site.register({ user: "ada" }, { ...browserOnly, origin: `http://${HOST}` }));
  });

  test("is refused with 421 under a foreign host name", async () => {
    const site = sharedSite();
    const rebound = { ...browserOnly, host: "evil.example", referer: "http://evil.example/" };
    expectRefusal(await site.get("/api/v4/license", rebound), 421, "wrong_host");
    expectRefusal(await site.get("/", rebound), 421, "wrong_host");
  });
});

test.each([
  "curl/8.5.0",
  "Mozilla/5.0",
  "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.1",
])("a program is not taken for a browser: %s", async (agent) => {
  const site = await openAppliance();
  const headers = { "user-agent": agent, host: "licenses.example" };
  expectOk(await site.get("/api/v4/license", headers));
  expectOk(await site.get("/api/v4/unregister/all", { "user-agent": agent }));
});

describe("a browser navigation", () => {
  const SITES = ["none", "same-origin", "same-site", "cross-site"];

  test.each(SITES)("to the page is accepted with Sec-Fetch-Site %s", async (from) => {
    const site = sharedSite();
    const headers = { "sec-fetch-mode": "navigate", "sec-fetch-site": from };
    expectOk(await site.get("/", headers));
  });

  test.each(SITES)("to any other path is refused with Sec-Fetch-Site %s", async (from) => {
    const site = sharedSite();
    const headers = { "sec-fetch-mode": "navigate", "sec-fetch-site": from };
    for (const path of ["license", "health", "openapi.json", "unregister/all"]) {
      expectRefusal(await site.get(`/api/v4/${path}`, headers), 403, "cross_site");
    }
    expectRefusal(await site.register({ user: "ada" }, headers), 403, "cross_site");
    expect(await site.listHolders()).toEqual([]);
  });

  test("to any other path is refused without Sec-Fetch-Site", async () => {
    const site = sharedSite();
    const headers = { "sec-fetch-mode": "navigate" };
    expectRefusal(await site.get("/api/v4/unregister/all", headers), 403, "cross_site");
    expectOk(await site.get("/", headers));
  });
});

describe("the gate", () => {
  const allWrong = { host: "evil.example", origin: "http://foreign.example" };

  test("checks path, method, host, site, network and credential in this order", async () => {
    const site = await openAppliance();
    site.peer = "203.0.113.9";
    const admin = "/api/admin/v1/status";
    expectRefusal(await site.get("/nothing", allWrong), 404, "not_found");
    expectRefusal(await site.send("PUT", admin, { headers: allWrong }), 405, "method_not_allowed");
    expectRefusal(await site.get(admin, allWrong), 421, "wrong_host");
    const named = { ...allWrong, host: HOST };
    expectRefusal(await site.get(admin, named), 403, "cross_site");
    expectRefusal(await site.get(admin), 403, "forbidden");
    site.peer = "10.0.0.1";
    expectRefusal(await site.get(admin), 401, "unauthorized");
    site.peer = "127.0.0.1";
    expectOk(await site.get(admin));
  });

  test("refuses a request before it reads the body", async () => {
    const site = await openAppliance();
    site.peer = "203.0.113.9";
    const raw = { body: "x".repeat(100_000), headers: { "content-type": "text/plain" } };
    expectRefusal(await site.send("POST", "/api/v4/register", raw), 403, "forbidden");
  });
});

describe("the local socket", () => {
  test("checks neither host nor origin, and grants administration", async () => {
    const site = await openAppliance({ gate: socketGate });
    const headers = { host: "berth", origin: "http://evil.example" };
    expectOk(await site.get("/api/admin/v1/status", headers));
    expectOk(await site.register({ user: "ada" }));
    const [registration] = expectOk(await site.registrations());
    expect(registration?.peer).toBe("socket");
  });

  test("has the same paths and methods as the network", async () => {
    const site = await openAppliance({ gate: socketGate });
    expectRefusal(await site.get("/nothing"), 404, "not_found");
    expectRefusal(await site.get("/api/v4/register"), 405, "method_not_allowed");
  });
});
