// What one client can add to the audit log of the real executable, which is kept for ever.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import { RunningSite } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LONGEST_INFO = 4_096;

async function openLicensedSite(...words: string[]): Promise<RunningSite> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 10, timeoutMinutes: 60 });
  return RunningSite.open(words, folder);
}

const makeUserInfo = (turn: number): string => `${turn} `.padEnd(LONGEST_INFO, "x");

/** The line of the audit log that was written last. */
async function readNewestSeq(one: RunningSite): Promise<number> {
  const response = await one.get("/api/admin/v1/audit?limit=1");
  return ((await response.json()) as AuditPageReply).events[0]?.seq ?? 0;
}

/** A call from another address of this machine; the answer's status. */
function callFrom(localAddress: string, port: number, path: string, body: object): Promise<number> {
  const text = JSON.stringify(body);
  const request = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    "",
    text,
  ].join("\r\n");
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect({ port, host: "127.0.0.1", localAddress }, () => socket.write(request));
    socket.on("data", (part) => (answer += String(part)));
    socket.on("error", reject);
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])));
  });
}

test("500 heartbeats from two machines, with other user_info each, leave one line", async () => {
  const one = await openLicensedSite();
  const beat = (turn: number, os_hostname: string): Promise<Response> =>
    one.post("/api/v4/register", { user: "ada", os_hostname, user_info: makeUserInfo(turn) });
  expect((await beat(0, "desk")).status).toBe(200);
  const taken = await readNewestSeq(one);
  for (let turn = 1; turn <= 250; turn += 1) expect((await beat(turn, "desk")).status).toBe(200);
  expect(await readNewestSeq(one)).toBe(taken);
  for (let turn = 251; turn <= 500; turn += 1) {
    expect((await beat(turn, turn % 2 === 0 ? "desk" : "laptop")).status).toBe(200);
  }
  expect(await readNewestSeq(one)).toBe(taken + 1);
  const shown = (await (await one.get("/api/admin/v1/registrations")).json()) as unknown[];
  expect(shown).toMatchObject([{ user: "ada", user_info: makeUserInfo(500), os_hostname: "desk" }]);
});

test("a flood beyond the audit budget gets 429 while heartbeats, returns and others are served", async () => {
  const one = await openLicensedSite("--audit-budget", "1");
  for (const user of ["ada", "bob"]) {
    expect((await one.post("/api/v4/register", { user })).status).toBe(200);
  }
  let refused: Response | null = null;
  for (let turn = 0; refused === null && turn < 2_000; turn += 1) {
    const fields = { user: "flood", user_info: makeUserInfo(turn) };
    const answer = await one.post("/api/v4/register", fields);
    if (answer.status === 429) refused = answer;
    else {
      expect(answer.status).toBe(200);
      expect((await one.post("/api/v4/unregister", { user: "flood" })).status).toBe(200);
    }
  }
  expect(refused?.status).toBe(429);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({
    status: 429,
    code: "audit_budget_exhausted",
    message: expect.stringContaining("1 MiB an hour"),
  });
  for (let turn = 0; turn < 50; turn += 1) {
    const fields = { user: "ada", os_hostname: `desk-${turn}`, user_info: makeUserInfo(turn) };
    expect((await one.post("/api/v4/register", fields)).status).toBe(200);
  }
  expect((await one.post("/api/v4/unregister", { user: "bob" })).status).toBe(200);
  expect((await one.get("/api/v4/license?product=cad")).status).toBe(200);
  const other = { user: "other", user_info: makeUserInfo(0) };
  expect(await callFrom("127.0.0.2", Number(one.port), "/api/v4/register", other)).toBe(200);
  const released = await one.runCommand(["release", "--user", "ada"]);
  expect([released.code, released.stderr]).toEqual([0, ""]);
});
