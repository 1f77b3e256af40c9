// Scenarios: the sentences of errors, which applications show to their users.
import { expect } from "bun:test";
import type { ClientOptions } from "./protocol.ts";
import type { Scenario } from "./world.ts";

/** An address where nothing listens. */
const DEAD = "http://127.0.0.1:1";

const UNKNOWN_HOST = "http://no-such-host.invalid:8080";

const answer = (status: number, code: string, message: string) => ({
  status,
  body: { status, code, message },
});

/** What a server must not bring onto a terminal or into a log, by its name. */
const UNPRINTED: Readonly<Record<string, string>> = {
  "an escape sequence": "\u001b",
  "a bell": "\u0007",
  "a line feed": "\n",
  "a carriage return": "\r",
  "a backspace": "\b",
  "a delete character": "\u007f",
  "a control sequence of one character": "\u009b",
  "a soft hyphen": "\u00ad",
  "a letter mark": "\u061c",
  "a zero-width space": "\u200b",
  "a right-to-left mark": "\u200f",
  "a line separator": "\u2028",
  "a paragraph separator": "\u2029",
  "an override of the direction": "\u202e",
  "an isolate of the direction": "\u2067",
  "a byte order mark": "\ufeff",
  "an annotation": "\ufff9",
  "a tag": "\u{e0041}",
  "several in a row": "\u001b\u0007\r\n\u202e\u{e0041}",
};

/** Texts that are shown as they are. */
const PRINTED = [
  "a\\b",
  'a"b',
  "a%sb",
  "caf\u00e9",
  "\u65e5\u672c\u8a9e",
  "\u{1f600}",
  "a \u00a0 b",
];

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
    title: "a message and a code have no characters that a terminal obeys",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const shown: Record<string, readonly string[]> = {};
      for (const [name, character] of Object.entries(UNPRINTED)) {
        const text = `${character}one${character}two${character}`;
        proxy.answer("register", answer(400, text, text), 1);
        const { code, message } = await client.acquireError("ada");
        shown[name] = [code, message];
      }
      const expected = ["one two", `${proxy.url} refused: one two (one two)`];
      const names = Object.keys(UNPRINTED);
      expect(shown).toEqual(Object.fromEntries(names.map((name) => [name, expected])));
      for (const text of PRINTED) {
        proxy.answer("register", answer(400, "code", text), 1);
        const { message } = await client.acquireError("ada");
        expect(message).toBe(`${proxy.url} refused: ${text} (code)`);
      }
    },
  },
  {
    title: "a message of nothing but such characters is left out",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      proxy.answer("register", answer(400, "unknown_product", "\u001b\u0007"), 1);
      const { message } = await client.acquireError("ada");
      expect(message).toBe(`${proxy.url} refused: unknown_product`);
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
      expect(error.message).toStartWith(`${proxy.url} replied 503: no space (storage_full)`);
      expect(error.message).toContain(`${DEAD} cannot be reached`);
      const patient = await world.connect(DEAD, { retry_for: 2 }, brief.driver);
      const later = await patient.acquireError("ada");
      expect(later.status).toBeNull();
      expect(later.message).toMatch(/^no server answered in \d+ s: /);
    },
  },
  {
    title: "a server that cannot do a call gives its own message and code",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.answer("*", answer(503, "storage_full", "no space"));
      const brief = await world.connectForOneRound(proxy.url);
      const said = `${proxy.url} replied 503: no space (storage_full)`;
      expect((await brief.acquireError("ada")).message).toBe(said);
      const patient = await world.connect(proxy.url, { retry_for: 2 }, brief.driver);
      const { message } = await patient.acquireError("ada");
      expect(message.replace(/\d+ s$/, "N s")).toBe(`${said}; repeated for N s`);
    },
  },
  {
    title: "says whether a call may have been counted, or nothing was sent",
    async run(world) {
      const proxy = await world.openProxy();
      const reached = await world.connectForOneRound(proxy.url);
      proxy.fail("*", { kind: "cut after" });
      const counted = await reached.consumeError();
      const doubt = `; the call may have been counted: repeat it with the key ${counted.key}`;
      expect(counted.message).toEndWith(doubt);
      for (const url of [DEAD, DEAD.replace("http:", "https:"), UNKNOWN_HOST]) {
        const client = await world.connectForOneRound(url, {}, reached.driver);
        const { message } = await client.consumeError();
        expect(message).toEndWith("; nothing was sent, so nothing was counted");
      }
    },
  },
  {
    title: "repeats a call to a host name that is not known, and says so",
    async run(world) {
      const client = await world.connect(UNKNOWN_HOST, { retry_for: 2 });
      const error = await client.acquireError("ada");
      expect(error).toMatchObject({ kind: "Unavailable", code: "unreachable" });
      expect(error.message).toMatch(/^no server answered in \d+ s: /);
      // Without a name server, the system cannot tell whether there is such a host.
      expect(error.message).toMatch(/no such host|cannot be looked up/);
    },
  },
  {
    title: "https to a port without TLS says to check the address",
    async run(world) {
      const client = await world.connect(world.server.url.replace("http:", "https:"));
      const { code, message } = await client.acquireError("ada");
      expect(code).toBe("tls_failed");
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
