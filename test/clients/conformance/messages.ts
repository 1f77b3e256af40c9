// Scenarios: the sentences of errors, which applications show to their users.
import { expect } from "bun:test";
import type { ClientOptions } from "./protocol.ts";
import type { Scenario } from "./world.ts";

/** An address where nothing listens. */
const DEAD = "http://127.0.0.1:1";

const answer = (status: number, code: string, message: string) => ({
  status,
  body: { status, code, message },
});

export const messageScenarios: readonly Scenario[] = [
  {
    title: "a refusal has its address, the server's message and the code alone",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      for (const code of ["floating_not_available", "unknown_product"]) {
        proxy.answer("register", answer(400, code, "the reason"), 1);
        const { message } = await client.acquireError("ada");
        expect(message).toBe(`${proxy.url} refused: the reason (${code})`);
      }
    },
  },
  {
    title: "a refusal without a login says to give one",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      proxy.answer("register", answer(401, "unauthorized", "no credentials"), 1);
      const { message } = await client.acquireError("ada");
      expect(message).toContain(`${proxy.url} refused: no credentials (unauthorized)`);
      expect(message).toContain("give the option login");
    },
  },
  {
    title: "names every server that did not answer and the seconds, but no part of a second",
    async run(world) {
      const proxy = await world.openProxy();
      const brief = await world.connectForOneRound([DEAD, proxy.url]);
      proxy.answer("*", answer(503, "storage_full", "no space"));
      const error = await brief.acquireError("ada");
      expect(error).toMatchObject({ code: "storage_full", status: 503 });
      expect(error.message).toStartWith(`no server answered: ${DEAD} `);
      expect(error.message).toContain(`; ${proxy.url} replied 503: no space (storage_full)`);
      const patient = await world.connect(DEAD, { retry_for: 2 }, brief.driver);
      const later = await patient.acquireError("ada");
      expect(later.status).toBeNull();
      expect(later.message).toMatch(/^no server answered in \d+ s: /);
    },
  },
  {
    title: "https to a port without TLS says to check the address",
    async run(world) {
      const client = await world.connectForOneRound(world.server.url.replace("http:", "https:"));
      const { message } = await client.acquireError("ada");
      expect(message).toContain("check that the address is the TLS address");
    },
  },
  {
    title: "a loss names the slot or the feature and its user",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(6);
      proxy.shortenFeatureTimeout(3);
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      proxy.answer("featureRegister", answer(400, "license_expired", "it has ended"));
      const reason = `is lost: ${proxy.url} refused: it has ended (license_expired)`;
      const { message } = await client.driver.waitForLoss(feature.name);
      expect(message).toBe(`the feature RENDER of ada ${reason}`);
      proxy.answer("register", answer(400, "license_expired", "it has ended"));
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss.message).toBe(`the slot of ada ${reason}`);
    },
  },
  {
    title: "refuses an address of the API, a colon in a login name and a CA file without one",
    async run(world) {
      const driver = world.startDriver();
      const { url } = world.server;
      const cases: readonly [string, ClientOptions, string][] = [
        [`${url}/api/v4`, {}, "give the address without /api/v4"],
        [`${url}/api/v4/`, {}, "give the address without /api/v4"],
        [url, { login: { name: "a:b", password: "secret" } }, "colon"],
        [url, { ca: import.meta.path }, import.meta.path],
      ];
      // libcurl reads the file only when it connects.
      const known = world.client === "c" ? cases.slice(0, -1) : cases;
      for (const [address, options, text] of known) {
        const usual = { client: "c", urls: [address], product: world.product };
        const error = await driver.requestError("client", { ...usual, ...options });
        expect(error).toMatchObject({ kind: "InvalidArgument", status: null });
        expect(error.message).toContain(text);
      }
    },
  },
  {
    title: "the server alone checks until when a slot is borrowed",
    async run(world) {
      const client = await world.connect(world.server.url, { nonce: "device-0123456789" });
      const error = await client.borrowError("ada", { until: "tomorrow" });
      expect(error).toMatchObject({ kind: "Refused", code: "invalid_timestamp" });
    },
  },
  {
    title: "a slot that was borrowed expires no earlier than the borrow",
    async run(world) {
      const client = await world.connect(world.server.url, { nonce: "device-0123456789" });
      const slot = await client.acquire("ada");
      const { borrowed_until } = await client.borrow("ada");
      const { expires_at } = await slot.read();
      expect(Date.parse(expires_at)).toBeGreaterThanOrEqual(Date.parse(borrowed_until));
    },
  },
];
