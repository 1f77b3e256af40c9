import { describe, expect, spyOn, test } from "bun:test";
import { Appliance, expectOk, expectRefusal, openAppliance } from "../../../support/appliance.ts";
import { openHosts, type HostsOfPair } from "../../../support/pair-leaderships.ts";
import { STREAM_PATH } from "../../../support/status-stream.ts";

interface ServedHost {
  readonly site: Appliance;
  readonly hosts: HostsOfPair;
  /** Ends the term of the host, as if it could not be renewed. */
  readonly endTerm: () => void;
}

/** An appliance that answers as long as alpha of a pair leads. */
async function openLeader(): Promise<ServedHost> {
  const alone = await openAppliance({ licenses: { 1: { slots: 1 } } });
  const hosts = await openHosts();
  const { leadership } = hosts.alpha;
  await leadership.step();
  await hosts.beta.leadership.step();
  const { services, clock, folder } = alone;
  leadership.addListener({
    end() {
      services.queue.pause();
      services.streams.endAll();
    },
  });
  const endTerm = (): void => {
    hosts.log.now += 8_000;
    leadership.checkTerm();
  };
  return { site: new Appliance({ ...services, leadership }, clock, folder), hosts, endTerm };
}

const ADA = { product: "cad", user: "ada" };

describe("a host of a pair", () => {
  test("answers as long as its term lasts", async () => {
    const { site, hosts } = await openLeader();
    expectOk(await site.register(ADA));
    hosts.log.now += 7_999;
    expectOk(await site.register(ADA));
  });

  test("refuses every request after its term, and changes nothing", async () => {
    const { site, endTerm } = await openLeader();
    endTerm();
    const before = site.lastSeq();
    expectRefusal(await site.register(ADA), 503, "standby");
    expectRefusal(await site.get("/"), 503, "standby");
    expect(site.lastSeq()).toBe(before);
  });

  test("names the leader that it knows", async () => {
    const { site, hosts, endTerm } = await openLeader();
    endTerm();
    hosts.log.now += 10_000;
    await hosts.beta.leadership.step();
    hosts.log.leader = { ...hosts.log.leader, url: "https://beta.example" };
    await hosts.alpha.leadership.step();
    const [response] = await site.register(ADA);
    expect(response.headers.get("berth-leader")).toBe("https://beta.example");
  });

  test("sends no reply of a request during which its term ended", async () => {
    const { site, endTerm } = await openLeader();
    const { slots } = site.services;
    const register = slots.register.bind(slots);
    spyOn(slots, "register").mockImplementation(async (input) => {
      const result = await register(input);
      endTerm();
      return result;
    });
    // The change happened, so the caller must not take it for refused.
    expectRefusal(await site.register(ADA), 503, "log_unavailable");
  });

  test("sends no refusal of a request during which its term ended", async () => {
    const { site, endTerm } = await openLeader();
    expectOk(await site.register(ADA));
    const { slots } = site.services;
    const register = slots.register.bind(slots);
    spyOn(slots, "register").mockImplementation(async (input) => {
      const result = await register(input);
      endTerm();
      return result;
    });
    expectRefusal(await site.register({ product: "cad", user: "bob" }), 503, "standby");
  });

  test("does not judge credentials while another host leads", async () => {
    const { site, endTerm } = await openLeader();
    const token = { authorization: "Bearer unknown" };
    expectRefusal(await site.get("/api/admin/v1/status", token), 401, "unauthorized");
    endTerm();
    expectRefusal(await site.get("/api/admin/v1/status", token), 503, "standby");
  });

  test("still refuses unknown paths and other networks as such while another host leads", async () => {
    const { site, endTerm } = await openLeader();
    endTerm();
    expectRefusal(await site.get("/api/v4/unknown"), 404, "not_found");
    site.peer = "8.8.8.8";
    expectRefusal(await site.register(ADA), 403, "forbidden");
  });

  test("answers a request that waits for a slot when its term ends, and keeps the place", async () => {
    const { site, endTerm } = await openLeader();
    expectOk(await site.register(ADA));
    const waiting = site.register({ product: "cad", user: "bob" }, { prefer: "wait=60" });
    while (site.services.queue.summarize().products.length === 0) await Bun.sleep(1);
    endTerm();
    const [response] = await waiting;
    expect(response.status).toBe(503);
    expect(site.services.queue.summarize().products).toMatchObject([{ waitingCount: 1 }]);
  });

  test("ends the streams of the page when its term ends", async () => {
    const { site, endTerm } = await openLeader();
    const request = new Request(`http://appliance${STREAM_PATH}`, {
      headers: { host: "127.0.0.1:8080" },
    });
    const response = await site.app.handle(request);
    expect(response.status).toBe(200);
    endTerm();
    expect(await response.text()).toStartWith('{"status":');
  });

  test("answers requests under way before it hands over, but accepts no new ones", async () => {
    const { site, hosts } = await openLeader();
    const { slots } = site.services;
    const register = slots.register.bind(slots);
    const decided = Promise.withResolvers<void>();
    spyOn(slots, "register").mockImplementation(async (input) => {
      const result = await register(input);
      decided.resolve();
      await Bun.sleep(5);
      return result;
    });
    const underWay = site.register(ADA);
    await decided.promise;
    const stopping = hosts.alpha.leadership.stop();
    await Bun.sleep(0);
    const refused = await site.get("/api/v4/license");
    expectRefusal(refused, 503, "standby");
    expect(refused[0].headers.get("berth-leader")).toBeNull();
    expectOk(await underWay);
    await stopping;
    expect(hosts.log.leader.holder).toBeNull();
  });
});
