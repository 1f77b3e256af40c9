// Clients that do not wait must not notice that there is a queue: the replies are compared with
// those of the version before it, byte for byte. Recorded with RECORD=1 on that version.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { contactFields } from "../../src/http/routes/slots/slot-reply.ts";
import { openAppliance, type Appliance } from "../support/appliance.ts";
import { hoursLater } from "../support/scenario.ts";

const FIXTURE = join(import.meta.dir, "fixtures", "replies-before-the-queue.json");

const CALLS: readonly (readonly [path: string, fields: Readonly<Record<string, unknown>>])[] = [
  ["register", { product: "cad", user: "ada", os_hostname: "ws-17", user_info: "second floor" }],
  ["register", { product: "cad", user: "ada", os_hostname: "ws-17", user_info: "second floor" }],
  ["register", { product: "cad", user: "bob#ws-1.7", license_id: "1" }],
  ["register", { product: "cad", user: "eve" }],
  ["register", { product: "cad", user: "eve", license_id: "1", unknown: "x" }],
  ["register", { product: "cad" }],
  ["register", { product: "none", user: "eve" }],
  ["register", { product: "cad", user: "eve", license_id: "99" }],
  ["register", { product: "cad", user: "eve", license_id: "x" }],
  ["borrow", { product: "cad", user: "ada", borrowed_until: "2026-03-02T19:00:00Z" }],
  ["borrow", { product: "cad", user: "eve", borrowed_until: "2026-03-02T19:00:00Z" }],
  ["featureRegister", { product: "cad", user: "ada", feature: "view" }],
  ["featureRegister", { product: "cad", user: "bob#ws-1.7", feature: "view" }],
  ["featureRelease", { product: "cad", user: "ada", feature: "view" }],
  ["add_consumption", { product: "cad", user: "ada", consumptions: "1" }],
  ["unregister", { product: "cad", user: "eve" }],
  ["unregister", { product: "cad", user: "bob#ws-1.7" }],
  ["unregister", { product: "cad", user: "bob#ws-1.7" }],
  ["register", { product: "cad", user: "eve" }],
];

interface RecordedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The fields with which a caller described itself when the replies were recorded. */
const RECORDED_CONTACT = new Set(["os_hostname", "ip_local", "user_info"]);

/**
 * Without what differs in each run, without the sentence and the header that were changed, and
 * without the fields of a caller that were added.
 */
function comparable({ status, headers, body }: RecordedReply): RecordedReply {
  const { "x-request-id": _id, "berth-appliance": _appliance, ...fixed } = headers;
  const text = body
    .replaceAll(/"lease":"[^"]+"/g, '"lease":"…"')
    .replace(/("code":"floating_not_available","message":")[^"]*/, "$1…");
  const added = Object.keys(contactFields).filter((name) => !RECORDED_CONTACT.has(name));
  const old = added.reduce(
    (json, name) => json.replace(new RegExp(`"${name}":"[^"]*",`), ""),
    text,
  );
  return { status, headers: fixed, body: old };
}

async function send(site: Appliance, path: string, fields: object): Promise<RecordedReply> {
  const request = new Request(`http://appliance/api/v4/${path}`, {
    method: "POST",
    headers: { host: "127.0.0.1:8080", "content-type": "application/json" },
    body: JSON.stringify(fields),
  });
  const response = await site.app.handle(request);
  const headers = Object.fromEntries(response.headers);
  return comparable({ status: response.status, headers, body: await response.text() });
}

async function makeReplies(): Promise<RecordedReply[]> {
  const site = await openAppliance();
  const replies: RecordedReply[] = [];
  for (const [path, fields] of CALLS) replies.push(await send(site, path, fields));
  site.clock.now = hoursLater(1);
  for (const [path, fields] of CALLS.slice(0, 5)) replies.push(await send(site, path, fields));
  return replies;
}

test("without Prefer and without a queue, replies are the recorded ones byte for byte", async () => {
  const replies = await makeReplies();
  if (process.env["RECORD"] !== undefined) {
    await Bun.write(FIXTURE, `${JSON.stringify(replies, null, 2)}\n`);
  }
  expect(replies).toEqual((await Bun.file(FIXTURE).json()) as RecordedReply[]);
});
