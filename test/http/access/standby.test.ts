// A host of a pair that does not lead: what it answers, and what it refuses.
import { describe, expect, test } from "bun:test";
import type { Leadership } from "../../../src/operations/pair/leadership.ts";
import type { PairMembership } from "../../../src/operations/pair/pair-membership.ts";
import type { PairStatus } from "../../../src/operations/pair/pair-status.ts";
import type { PairReply } from "../../../src/http/routes/pair/pair-reply.ts";
import { Appliance, expectOk, expectRefusal, openAppliance } from "../../support/appliance.ts";
import { HEALTHY_PAIR } from "../../support/pair-status.ts";

interface HostRole {
  mayAnswer: boolean;
  leader: string | null;
  url: string | null;
  isLogAway: boolean;
}

const LEADS: HostRole = { mayAnswer: true, leader: "alpha", url: null, isLogAway: false };
const FOLLOWS: HostRole = {
  mayAnswer: false,
  leader: "beta",
  url: "https://beta:8443",
  isLogAway: false,
};
const NONE_LEADS: HostRole = { mayAnswer: false, leader: null, url: null, isLogAway: false };

/** The app of a site whose host has the role that the returned object says. */
async function openHost(first: HostRole, status: PairStatus | null = HEALTHY_PAIR) {
  const role = { ...first };
  const { services, clock, folder } = await openAppliance();
  const leadership = {
    mayAnswer: () => role.mayAnswer,
    mayAccept: () => role.mayAnswer,
    status: () => ({
      leader: role.leader,
      leaderUrl: role.url,
      isLogAway: role.isLogAway,
    }),
  } as unknown as Leadership;
  const pairMembership = { status: () => status } as unknown as PairMembership;
  const host = new Appliance({ ...services, leadership, pairMembership }, clock, folder);
  return { host, role };
}

const HEALTH = "/api/v4/health";

describe("a host on standby", () => {
  test("refuses health with the URL of the leader in the header and in the message", async () => {
    const { host } = await openHost(FOLLOWS);
    const reply = await host.get<{ message: string }>(HEALTH);
    expectRefusal(reply, 503, "standby");
    expect(reply[0].headers.get("berth-leader")).toBe("https://beta:8443");
    expect(reply[1].message).toContain("https://beta:8443");
  });

  test("refuses health without a URL, if it does not know the leader's", async () => {
    const { host } = await openHost({ ...FOLLOWS, url: null });
    const reply = await host.get(HEALTH);
    expectRefusal(reply, 503, "standby");
    expect(reply[0].headers.get("berth-leader")).toBeNull();
  });

  test("refuses with log_unavailable, if the database is away and no leader is known", async () => {
    const { host } = await openHost({ ...NONE_LEADS, isLogAway: true });
    expectRefusal(await host.get(HEALTH), 503, "log_unavailable");
    expectRefusal(await host.register({ user: "ada" }), 503, "log_unavailable");
  });

  test("names the leader that it knew, if only this host lost the database", async () => {
    const { host } = await openHost({ ...FOLLOWS, isLogAway: true });
    expectRefusal(await host.get(HEALTH), 503, "standby");
  });

  test("refuses the status, and answers for the pair with its own findings", async () => {
    const { host } = await openHost(FOLLOWS, { ...HEALTHY_PAIR, hosts: [] });
    expectRefusal(await host.status(), 503, "standby");
    const reply = expectOk(await host.get<PairReply>("/api/admin/v1/pair"));
    expect(reply.pair?.leader).toBe("alpha");
    expect(reply.findings?.map(({ code }) => code)).toContain("pair_single_host");
    expect(reply.findings?.map(({ code }) => code)).not.toContain("disk_failed");
    expect(reply.passed_checks?.map(({ check }) => check)).toContain("storage");
  });

  test("replies to a browser with a page that links to the leader", async () => {
    const { host } = await openHost(FOLLOWS);
    const [response, body] = await host.get<string>("/", { accept: "text/html,*/*" });
    expect(response.status).toBe(503);
    expect(response.headers.get("content-type")).toStartWith("text/html");
    expect(response.headers.get("berth-leader")).toBe("https://beta:8443");
    expect(response.headers.get("content-security-policy")).toContain("trusted-types 'none'");
    expect(response.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(body).toContain("Host beta of the pair answers");
    expect(body).toContain('<a href="https://beta:8443">');
    expectRefusal(await host.get("/", { accept: "*/*" }), 503, "standby");
  });

  test("writes the URL of the leader as text, whatever it contains", async () => {
    const { host } = await openHost({ ...FOLLOWS, url: `https://"><script>x</script>` });
    const [, body] = await host.get<string>("/", { accept: "text/html" });
    expect(body).not.toContain("<script>");
    expect(body).toContain("&quot;&gt;&lt;script&gt;");
  });

  test("replies to a browser without a link, if the database is away", async () => {
    const { host } = await openHost({ ...NONE_LEADS, isLogAway: true });
    const [response, body] = await host.get<string>("/", { accept: "text/html" });
    expect(response.status).toBe(503);
    expect(body).toContain("No host answers now");
    expect(body).not.toContain("<a ");
  });

  test("ends the status stream of a page that was open before", async () => {
    const { host, role } = await openHost(LEADS);
    const request = new Request("http://appliance/api/admin/v1/stream", {
      headers: { host: "127.0.0.1:8080" },
    });
    const response = await host.app.handle(request);
    const reader = response.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    Object.assign(role, FOLLOWS);
    let last = await reader?.read();
    while (last?.done === false) last = await reader?.read();
    expect(last?.done).toBe(true);
  });
});

describe("the leader of a pair", () => {
  test("has the pair in its status, and no findings in the reply for the pair", async () => {
    const { host } = await openHost(LEADS);
    const { pair, findings } = expectOk(await host.status());
    expect(pair?.hosts.map(({ name }) => name)).toEqual(["alpha", "beta"]);
    expect(findings.filter(({ code }) => code.startsWith("pair_"))).toEqual([]);
    expect(Object.keys(expectOk(await host.get<PairReply>("/api/admin/v1/pair")))).toEqual([
      "pair",
    ]);
  });

  test("reports a silent host among its findings", async () => {
    const hosts = HEALTHY_PAIR.hosts.map((host) => ({ ...host, seenMsAgo: 90_000 }));
    const { host } = await openHost(LEADS, { ...HEALTHY_PAIR, hosts });
    const { findings } = expectOk(await host.status());
    expect(findings.map(({ code }) => code)).toContain("pair_host_silent");
  });
});
