import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  openSharedAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../../support/appliance.ts";

const CLIENT = "/api/v4/license";
const ADMIN = "/api/admin/v1/status";
const PAGE = "/";

type Verdict = "ok" | "wrong_host" | "cross_site" | "forbidden" | "unauthorized";

const STATUS = { wrong_host: 421, cross_site: 403, forbidden: 403, unauthorized: 401 } as const;

function expectVerdict(reply: ApiResponse<unknown>, verdict: Verdict): void {
  if (verdict === "ok") expectOk(reply);
  else expectRefusal(reply, STATUS[verdict], verdict);
}

async function send(
  site: Appliance,
  path: string,
  headers: RequestHeaders,
  peer: string | null = "127.0.0.1",
): Promise<ApiResponse<unknown>> {
  site.peer = peer;
  return site.get(path, headers);
}

const sharedSite = openSharedAppliance();

describe("the gate by the address of the peer", () => {
  test.each<[string | null, Verdict, Verdict]>([
    ["127.0.0.1", "ok", "ok"],
    ["127.9.9.9", "ok", "ok"],
    ["::1", "ok", "ok"],
    ["::ffff:127.0.0.1", "ok", "ok"],
    ["::FFFF:127.0.0.1", "ok", "ok"],
    ["10.1.2.3", "ok", "unauthorized"],
    ["172.16.0.1", "ok", "unauthorized"],
    ["172.31.255.255", "ok", "unauthorized"],
    ["192.168.7.7", "ok", "unauthorized"],
    ["169.254.1.1", "ok", "unauthorized"],
    ["::ffff:10.1.2.3", "ok", "unauthorized"],
    ["fd00::1", "ok", "unauthorized"],
    ["fe80::1%eth0", "ok", "unauthorized"],
    ["172.32.0.1", "forbidden", "forbidden"],
    ["203.0.113.9", "forbidden", "forbidden"],
    ["::ffff:203.0.113.9", "forbidden", "forbidden"],
    ["2001:db8::1", "forbidden", "forbidden"],
    ["::", "forbidden", "forbidden"],
    ["127.0.0.1.evil.example", "forbidden", "forbidden"],
    ["localhost", "forbidden", "forbidden"],
    ["", "forbidden", "forbidden"],
    [null, "forbidden", "forbidden"],
  ])("answers %j: applications %s, administration %s", async (peer, client, admin) => {
    const site = sharedSite();
    expectVerdict(await send(site, CLIENT, {}, peer), client);
    expectVerdict(await send(site, PAGE, {}, peer), client);
    expectVerdict(await send(site, ADMIN, {}, peer), admin);
  });

  test("leaves the state unchanged when it refuses a call", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const written = site.lastSeq();
    site.peer = "203.0.113.9";
    expectRefusal(await site.unregister({ user: "ada" }), 403, "forbidden");
    site.peer = "10.0.0.1";
    expectRefusal(await site.get("/api/v4/unregister/all"), 401, "unauthorized");
    site.peer = null;
    expectRefusal(await site.register({ user: "bob" }), 403, "forbidden");
    expect(site.lastSeq()).toBe(written);
  });
});

describe("the gate behind a proxy", () => {
  const HEADERS = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-anything",
    "X-Forwarded-For",
    "x-real-ip",
    "via",
  ];

  test.each(HEADERS)("treats loopback with the header %s as another machine", async (name) => {
    const site = sharedSite();
    for (const value of ["127.0.0.1", "for=127.0.0.1", ""]) {
      expectVerdict(await send(site, ADMIN, { [name]: value }), "unauthorized");
      expectVerdict(await send(site, CLIENT, { [name]: value }), "ok");
    }
  });

  test.each(HEADERS)("does not trust the address in the header %s", async (name) => {
    const site = sharedSite();
    expectVerdict(await send(site, CLIENT, { [name]: "127.0.0.1" }, "203.0.113.9"), "forbidden");
    expectVerdict(await send(site, ADMIN, { [name]: "127.0.0.1" }, "10.0.0.1"), "unauthorized");
  });
});

test.each([
  "Bearer x",
  "Bearer ",
  "bearer",
  "Basic YWRtaW46YWRtaW4=",
  "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
  "Bearer a, Bearer b",
  `Bearer ${"x".repeat(10_000)}`,
])("a network peer gets no administration while no credential is set up: %.40s", async (value) => {
  const site = sharedSite();
  expectVerdict(await send(site, ADMIN, { authorization: value }, "10.0.0.1"), "unauthorized");
  expectVerdict(await send(site, CLIENT, { authorization: value }, "10.0.0.1"), "ok");
});

describe("the gate of a demo", () => {
  test.each<[string | null, Verdict]>([
    ["127.0.0.1", "ok"],
    ["10.1.2.3", "ok"],
    ["203.0.113.9", "forbidden"],
    [null, "forbidden"],
  ])("answers an administrative call from %j: %s", async (peer, verdict) => {
    const site = await openAppliance({ gate: { adminOpen: true } });
    expectVerdict(await send(site, ADMIN, {}, peer), verdict);
  });

  test("still refuses other sites and foreign host names", async () => {
    const site = await openAppliance({ gate: { adminOpen: true } });
    expectVerdict(await send(site, ADMIN, { origin: "http://evil.example" }), "cross_site");
    expectVerdict(await send(site, ADMIN, { host: "evil.example" }), "wrong_host");
  });
});

test("configured client networks replace the private networks", async () => {
  const site = await openAppliance({ gate: { isClient: (address) => address === "203.0.113.9" } });
  expectVerdict(await send(site, CLIENT, {}, "203.0.113.9"), "ok");
  expectVerdict(await send(site, CLIENT, {}, "::ffff:203.0.113.9"), "ok");
  expectVerdict(await send(site, CLIENT, {}, "10.0.0.1"), "forbidden");
});

describe("client networks that exclude the operators", () => {
  const OPEN = [PAGE, "/api/v4/health", "/api/v4/docs", "/api/v4/openapi.json"];

  test.each([
    ["this machine", "127.0.0.1", "ok"],
    ["this machine", "::1", "ok"],
    ["a network of administrators", "10.9.0.7", "unauthorized"],
  ] as const)("leave the page, health and administration to %s: %s", async (_, peer, verdict) => {
    const isClient = (address: string) => address === "203.0.113.9";
    const isAdmin = (address: string) => address === "10.9.0.7";
    const site = await openAppliance({ gate: { isClient, isAdmin } });
    for (const path of OPEN) expectVerdict(await send(site, path, {}, peer), "ok");
    expectVerdict(await send(site, ADMIN, {}, peer), verdict);
    expectVerdict(await send(site, CLIENT, {}, peer), "forbidden");
    for (const path of OPEN) expectVerdict(await send(site, path, {}, "10.9.0.8"), "forbidden");
  });
});

describe("the Host header", () => {
  const OWN_NAMES = [
    "127.0.0.1",
    "127.0.0.1:8080",
    "10.1.2.3:80",
    "[::1]",
    "[::1]:8080",
    "[fe80::1]:8080",
    "localhost",
    "LOCALHOST:8080",
    "localhost.",
    "appliance",
    "Appliance:8080",
  ];
  const FOREIGN_NAMES = [
    "evil.example",
    "evil.example:8080",
    "appliance.evil.example",
    "127.0.0.1.nip.io",
    "localhost.evil.example",
    "0x7f.1",
    "2130706433",
    "notlocalhost",
    "xappliance",
  ];
  const MALFORMED = [
    "127.0.0.1, 127.0.0.1",
    "127.0.0.1,evil.example",
    "",
    " ",
    "a b",
    "evil.example/127.0.0.1",
    "user@127.0.0.1",
    "127.0.0.1:8080:8080",
    "127.0.0.1:port",
    "127.0.0.1:123456",
    "::1",
    "[::1",
    "[beef]",
    "127.0.0.1#",
    "127.0.0.1\\evil",
  ];

  test.each(OWN_NAMES)("%j is accepted as a name of the server", async (host) => {
    const site = sharedSite();
    for (const path of [CLIENT, ADMIN, PAGE]) {
      expectVerdict(await send(site, path, { host }), "ok");
      expectVerdict(await send(site, path, { host, "sec-fetch-site": "none" }), "ok");
      expectVerdict(await send(site, path, { host, origin: `http://${host}` }), "ok");
    }
  });

  test.each(FOREIGN_NAMES)(
    "%j is accepted from applications, not from browsers or for administration",
    async (host) => {
      const site = sharedSite();
      expectVerdict(await send(site, CLIENT, { host }), "ok");
      expectVerdict(await send(site, CLIENT, { host, "sec-fetch-mode": "cors" }), "ok");
      expectVerdict(await send(site, ADMIN, { host }), "wrong_host");
      for (const browser of [
        { origin: `http://${host}` },
        { "sec-fetch-site": "same-origin" },
        { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
      ]) {
        expectVerdict(await send(site, CLIENT, { host, ...browser }), "wrong_host");
        expectVerdict(await send(site, PAGE, { host, ...browser }), "wrong_host");
      }
    },
  );

  test.each(MALFORMED)("%j is refused as malformed", async (host) => {
    const site = sharedSite();
    const headers = { host, "sec-fetch-site": "none" };
    expectVerdict(await send(site, ADMIN, { host }), "wrong_host");
    expectVerdict(await send(site, CLIENT, headers), "wrong_host");
    expectVerdict(await send(site, CLIENT, { host }), "wrong_host");
  });

  test("is required on every path", async () => {
    const site = await openAppliance();
    for (const path of [CLIENT, ADMIN, PAGE]) {
      const response = await site.app.handle(new Request(`http://appliance${path}`));
      expect(response.status).toBe(421);
    }
  });
});
