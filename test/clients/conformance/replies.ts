// Scenarios: a reply that is not one of Berth, or is damaged, is never believed and never ends the
// program. The call is repeated, and then reported as Unavailable.
import { expect } from "bun:test";
import type { Fault, FaultyProxy } from "./faulty-proxy.ts";
import type { Scenario, TestClient } from "./world.ts";

type Fields = Readonly<Record<string, unknown>>;
type Call = (client: TestClient) => Promise<{ readonly kind: string }>;

/** Bytes instead of a reply of the HTTP protocol. */
const BYTES: Readonly<Record<string, string | Buffer>> = {
  nothing: "",
  "no HTTP": "220 mail.example ESMTP\r\n",
  "a part of the status line": "HTTP/1.1 20",
  "no end of the headers": "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n",
  "random bytes": Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 97) % 256)),
  "a status that is no number": "HTTP/1.1 abc OK\r\ncontent-length: 0\r\n\r\n",
  "a chunk of no length": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
  "a length that is too large": 'HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{"a":1}',
  "a negative length": 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{"a":1}',
};

/** Bodies of a reply with status 200. */
const BODIES: Readonly<Record<string, string>> = {
  "an empty body": "",
  "broken JSON": '{"user": "ada", ',
  "an array": "[1, 2, 3]",
  "a string": '"granted"',
  null: "null",
  "a number": "200",
  "an empty object": "{}",
  html: "<!DOCTYPE html><html><body>captive portal</body></html>",
  "text after the object": '{"license_id": 1} and more',
  "deep nesting": `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
  "deep objects": `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`,
  "a lone surrogate": '{"user": "\\ud800", "license_id": "1"}',
  "a huge number": '{"license_id": 1e999, "floating_timeout": 1e999, "total_consumptions": 1e999}',
  "an unfinished escape": '{"user": "\\u12',
  "more than 1 MiB": `{"user": "${"x".repeat(1_200_000)}"}`,
};

/** Values that a field of a granted slot cannot have. */
const WRONG_REGISTER: readonly Fields[] = [
  { license_id: null },
  { license_id: "1" },
  { license_id: 1.5 },
  { license_id: -1 },
  { license_id: 2 ** 53 },
  { license_id: 1e300 },
  { license_id: [1] },
  { floating_timeout: null },
  { floating_timeout: 0 },
  { floating_timeout: -5 },
  { floating_timeout: "15" },
  { floating_timeout: 1e300 },
  { registered_at: 5 },
  { registered_at: null },
  { expires_at: {} },
  { is_borrowed: "yes" },
];

/** So short that the renewals would be a flood. */
const SHORT_REGISTER: readonly Fields[] = [1e-9, 0.0005, 0.016].map((minutes) => ({
  floating_timeout: minutes,
}));

const WRONG_CONSUMPTION: readonly Fields[] = [
  { total_consumptions: null },
  { total_consumptions: "5" },
  { total_consumptions: 1.5 },
  { total_consumptions: 1e300 },
  { license_id: "1" },
  { license_id: 2 ** 53 },
  { max_consumptions: "many" },
];

const acquireError: Call = (client) => client.acquireError("ada");
const consumeError: Call = (client) => client.consumeError();

/** Makes one call for each reply, and returns those that were not reported as they must be. */
async function findBelieved(
  client: TestClient,
  call: Call,
  replies: readonly (readonly [name: string, prepare: () => void])[],
): Promise<string[]> {
  const believed: string[] = [];
  for (const [name, prepare] of replies) {
    prepare();
    const kind = await call(client).then(
      (error) => error.kind,
      (error: unknown) => String(error),
    );
    if (kind !== "Unavailable") believed.push(`${name}: ${kind}`);
  }
  return believed;
}

/** Replies of the server with wrong fields; one at a time. */
function wrongFields(
  proxy: FaultyProxy,
  operation: string,
  wrong: readonly Fields[],
): (readonly [string, () => void])[] {
  let current: Fields = {};
  proxy.rewriteFields(operation, (fields) => ({ ...fields, ...current }));
  return wrong.map((fields) => [
    JSON.stringify(fields),
    () => {
      proxy.heal();
      current = fields;
    },
  ]);
}

const asFaults = (
  proxy: FaultyProxy,
  operation: string,
  faults: Readonly<Record<string, Fault>>,
): (readonly [string, () => void])[] =>
  Object.entries(faults).map(([name, fault]) => [
    name,
    () => {
      proxy.heal();
      // Without an end: the client may repeat the call.
      proxy.fail(operation, fault);
    },
  ]);

const faultsOfBodies = (): Record<string, Fault> =>
  Object.fromEntries(
    Object.entries(BODIES).map(([name, body]) => [
      name,
      {
        kind: "answer",
        reply: { status: 200, headers: { "content-type": "application/json" }, body },
      },
    ]),
  );

const faultsOfBytes = (): Record<string, Fault> =>
  Object.fromEntries(Object.entries(BYTES).map(([name, bytes]) => [name, { kind: "raw", bytes }]));

/** Replies of a status that Berth does not send, or without what Berth sends with it. */
const FOREIGN: Readonly<Record<string, Fault>> = {
  "a redirect": {
    kind: "answer",
    reply: { status: 302, headers: { location: "/api/v4/license" } },
  },
  "a permanent redirect": {
    kind: "answer",
    reply: { status: 308, headers: { location: "/api/v4/register" } },
  },
  "no content": { kind: "answer", reply: { status: 204 } },
  "html of a gateway": {
    kind: "answer",
    reply: { status: 502, appliance: null, body: "<html>Bad Gateway</html>" },
  },
  "a 400 without a code": { kind: "answer", reply: { status: 400, body: { message: "bad" } } },
  "a 400 with a number as code": { kind: "answer", reply: { status: 400, body: { code: 7 } } },
  "a 400 of a proxy": { kind: "answer", reply: { status: 400, appliance: null, body: "bad" } },
  "a 401 of a proxy": { kind: "answer", reply: { status: 401, appliance: null, body: "login" } },
  "a 403 with html": { kind: "answer", reply: { status: 403, body: "<html>blocked</html>" } },
};

const JSON_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const CHUNKED_HEAD = `${JSON_HEAD}transfer-encoding: chunked\r\n\r\n`;
const FILLER = "x".repeat(16_384);

const endless = (head: string, part: string): Fault => ({ kind: "endless", head, part });

/** Parts of a reply that never end, and that a client keeps until it has read them. */
const ENDLESS_KEPT: Readonly<Record<string, Fault>> = {
  "a status line": endless("HTTP/1.1 200 ", FILLER),
  "a header": endless(`${JSON_HEAD}x-long: `, FILLER),
  "long headers": endless(JSON_HEAD, `x-more: ${FILLER.slice(1_000)}\r\n`),
  "short headers": endless(JSON_HEAD, "a: b\r\n".repeat(2_000)),
  "a text in JSON": endless(`${JSON_HEAD}\r\n{"user": "`, FILLER),
  "spaces before JSON": endless(`${JSON_HEAD}\r\n`, " ".repeat(16_384)),
  "small chunks": endless(CHUNKED_HEAD, "1\r\nx\r\n".repeat(2_000)),
};

/** As above, but a client skips them: its time limit ends the call. */
const ENDLESS_SKIPPED: Readonly<Record<string, Fault>> = {
  "interim replies": endless("", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(500)),
  "the size of a chunk": endless(CHUNKED_HEAD, "0".repeat(16_384)),
  "the extension of a chunk": endless(`${CHUNKED_HEAD}1;`, FILLER),
};

/** More than a reply of 1 MiB and all buffers between the proxy and the client. */
const MAX_KEPT = 32 * 2 ** 20;

export const replyScenarios: readonly Scenario[] = [
  {
    title: "believes no damaged reply to a request for a slot",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url, { timeout: 5 });
      const believed = await findBelieved(client, acquireError, [
        ...asFaults(proxy, "register", faultsOfBytes()),
        ...asFaults(proxy, "register", faultsOfBodies()),
        ...asFaults(proxy, "register", FOREIGN),
        ...wrongFields(proxy, "register", [...WRONG_REGISTER, ...SHORT_REGISTER]),
      ]);
      expect(believed).toEqual([]);
      expect(client.driver.stderr).toBe("");
    },
  },
  {
    title: "believes no damaged reply to a request that counts",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url, { timeout: 5 });
      const believed = await findBelieved(client, consumeError, [
        ...asFaults(proxy, "add_consumption", faultsOfBodies()),
        ...asFaults(proxy, "add_consumption", FOREIGN),
        ...wrongFields(proxy, "add_consumption", WRONG_CONSUMPTION),
      ]);
      expect(believed).toEqual([]);
      expect(client.driver.stderr).toBe("");
    },
  },
  {
    title: "ends a call whose reply never ends",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url, { timeout: 5 });
      const kept = asFaults(proxy, "register", ENDLESS_KEPT);
      expect(await findBelieved(client, acquireError, kept)).toEqual([]);
      const sent = proxy.requests.map(({ endlessBytes }) => endlessBytes);
      expect(sent.filter((bytes) => bytes > MAX_KEPT)).toEqual([]);
      const brief = await world.connectForOneRound(proxy.url, { timeout: 0.3 });
      const skipped = asFaults(proxy, "register", ENDLESS_SKIPPED);
      expect(await findBelieved(brief, acquireError, skipped)).toEqual([]);
      expect([client.driver.stderr, brief.driver.stderr]).toEqual(["", ""]);
    },
  },
  {
    title: "works again after damaged replies",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const faults = { ...faultsOfBytes(), ...FOREIGN };
      for (const fault of Object.values(faults).slice(0, 4)) proxy.fail("register", fault, 1);
      const slot = await client.acquire("ada");
      expect([await slot.isHeld(), await slot.release()]).toEqual([true, true]);
    },
  },
  {
    title: "sends a body once, without following a redirect",
    async run(world) {
      const [proxy, other] = [await world.openProxy(), await world.openProxy()];
      const location = `${other.url}/api/v4/register`;
      proxy.answer("register", { status: 307, headers: { location } });
      const client = await world.connectForOneRound(proxy.url);
      expect((await client.acquireError("ada")).kind).toBe("Unavailable");
      expect([proxy.count("register"), other.requests.length]).toEqual([1, 0]);
    },
  },
  {
    title: "reads the reply that follows interim ones",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.fail("*", { kind: "early hints" });
      const client = await world.connectForOneRound(proxy.url);
      const slot = await client.acquire("ada");
      expect((await client.consume()).total).toBe(1);
      expect([await slot.isHeld(), await slot.release()]).toEqual([true, true]);
    },
  },
  {
    title: "reads a reply in small parts, at whose end the server closes the connection",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.rewrite((reply) => ({ ...reply, headers: { ...reply.headers, connection: "close" } }));
      proxy.fail("register", { kind: "drip", ms: 0 });
      const client = await world.connectForOneRound(proxy.url, { timeout: 60 });
      expect(await (await client.acquire("ada")).isHeld()).toBe(true);
    },
  },
];
