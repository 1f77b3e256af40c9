import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../support/appliance.ts";

const CLIENT = "/api/v4/license";
const ADMIN = "/api/admin/v1/status";
const PAGE = "/";

type Verdict = "ok" | "wrong_host" | "cross_site" | "forbidden" | "unauthorized";

const STATUS = { wrong_host: 421, cross_site: 403, forbidden: 403, unauthorized: 401 } as const;

function expectVerdict(answer: ApiResponse<unknown>, verdict: Verdict): void {
  if (verdict === "ok") expectOk(answer);
  else expectRefusal(answer, STATUS[verdict], verdict);
}

async function judged(
  site: Appliance,
  path: string,
  headers: RequestHeaders,
  peer: string | null = "127.0.0.1",
): Promise<ApiResponse<unknown>> {
  site.peer = peer;
  return site.get(path, headers);
}

describe("who may call, by the socket's peer", () => {
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
  ])("%j: applications %s, administration %s", async (peer, client, admin) => {
    const site = await openAppliance();
    expectVerdict(await judged(site, CLIENT, {}, peer), client);
    expectVerdict(await judged(site, PAGE, {}, peer), client);
    expectVerdict(await judged(site, ADMIN, {}, peer), admin);
  });

  test("a refused call changes nothing", async () => {
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

describe("somebody in between", () => {
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

  test.each(HEADERS)("with %s, loopback is not the machine itself", async (name) => {
    const site = await openAppliance();
    for (const value of ["127.0.0.1", "for=127.0.0.1", ""]) {
      expectVerdict(await judged(site, ADMIN, { [name]: value }), "unauthorized");
      expectVerdict(await judged(site, CLIENT, { [name]: value }), "ok");
    }
  });

  test.each(HEADERS)("what %s claims makes nobody a client or an operator", async (name) => {
    const site = await openAppliance();
    expectVerdict(await judged(site, CLIENT, { [name]: "127.0.0.1" }, "203.0.113.9"), "forbidden");
    expectVerdict(await judged(site, ADMIN, { [name]: "127.0.0.1" }, "10.0.0.1"), "unauthorized");
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
])(
  "no credential opens administration from elsewhere while there is none: %.40s",
  async (value) => {
    const site = await openAppliance();
    expectVerdict(await judged(site, ADMIN, { authorization: value }, "10.0.0.1"), "unauthorized");
    expectVerdict(await judged(site, CLIENT, { authorization: value }, "10.0.0.1"), "ok");
  },
);

describe("a demo", () => {
  test.each<[string | null, Verdict]>([
    ["127.0.0.1", "ok"],
    ["10.1.2.3", "ok"],
    ["203.0.113.9", "forbidden"],
    [null, "forbidden"],
  ])("is open for administration to %j: %s", async (peer, verdict) => {
    const site = await openAppliance({ gate: { adminOpen: true } });
    expectVerdict(await judged(site, ADMIN, {}, peer), verdict);
  });

  test("keeps other sites and other names out all the same", async () => {
    const site = await openAppliance({ gate: { adminOpen: true } });
    expectVerdict(await judged(site, ADMIN, { origin: "http://evil.example" }), "cross_site");
    expectVerdict(await judged(site, ADMIN, { host: "evil.example" }), "wrong_host");
  });
});

test("client networks that were configured replace the private ones", async () => {
  const site = await openAppliance({ gate: { isClient: (address) => address === "203.0.113.9" } });
  expectVerdict(await judged(site, CLIENT, {}, "203.0.113.9"), "ok");
  expectVerdict(await judged(site, CLIENT, {}, "::ffff:203.0.113.9"), "ok");
  expectVerdict(await judged(site, CLIENT, {}, "10.0.0.1"), "forbidden");
});

describe("the name it is called by", () => {
  const OWN = [
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
  const FOREIGN = [
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
  const BROKEN = [
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

  test.each(OWN)("%j is its own", async (host) => {
    const site = await openAppliance();
    for (const path of [CLIENT, ADMIN, PAGE]) {
      expectVerdict(await judged(site, path, { host }), "ok");
      expectVerdict(await judged(site, path, { host, "sec-fetch-site": "none" }), "ok");
      expectVerdict(await judged(site, path, { host, origin: `http://${host}` }), "ok");
    }
  });

  test.each(FOREIGN)(
    "%j is an alias for applications, not for browsers or operators",
    async (host) => {
      const site = await openAppliance();
      expectVerdict(await judged(site, CLIENT, { host }), "ok");
      expectVerdict(await judged(site, CLIENT, { host, "sec-fetch-mode": "cors" }), "ok");
      expectVerdict(await judged(site, ADMIN, { host }), "wrong_host");
      for (const browser of [
        { origin: `http://${host}` },
        { "sec-fetch-site": "same-origin" },
        { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
      ]) {
        expectVerdict(await judged(site, CLIENT, { host, ...browser }), "wrong_host");
        expectVerdict(await judged(site, PAGE, { host, ...browser }), "wrong_host");
      }
    },
  );

  test.each(BROKEN)("%j is no name at all", async (host) => {
    const site = await openAppliance();
    const headers = { host, "sec-fetch-site": "none" };
    expectVerdict(await judged(site, ADMIN, { host }), "wrong_host");
    expectVerdict(await judged(site, CLIENT, headers), "wrong_host");
    expectVerdict(await judged(site, CLIENT, { host }), "wrong_host");
  });

  test("none given is none known", async () => {
    const site = await openAppliance();
    for (const path of [CLIENT, ADMIN, PAGE]) {
      const response = await site.app.handle(new Request(`http://appliance${path}`));
      expect(response.status).toBe(421);
    }
  });
});
