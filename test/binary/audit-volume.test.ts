// How much one client can add to the audit log, which is kept forever.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import type { AuditPageReply } from "../../src/http/routes/audit/audit-log.ts";
import { RunningSite } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LONGEST_INFO = 4_096;

async function openLicensedSite(...flags: string[]): Promise<RunningSite> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 10, timeoutMinutes: 60 });
  return RunningSite.open(flags, folder);
}

const makeUserInfo = (round: number): string => `${round} `.padEnd(LONGEST_INFO, "x");

/** The number of the newest line in the audit log. */
async function readNewestSeq(site: RunningSite): Promise<number> {
  const response = await site.get("/api/admin/v1/audit?limit=1");
  return ((await response.json()) as AuditPageReply).events[0]?.seq ?? 0;
}

/** Calls from another address of this machine and returns the reply's status. */
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

test("500 heartbeats with changing user_info from two machines add one line to the audit log", async () => {
  const site = await openLicensedSite();
  const beat = (round: number, os_hostname: string): Promise<Response> =>
    site.post("/api/v4/register", { user: "ada", os_hostname, user_info: makeUserInfo(round) });
  expect((await beat(0, "desk")).status).toBe(200);
  const seq = await readNewestSeq(site);
  for (let round = 1; round <= 250; round += 1)
    expect((await beat(round, "desk")).status).toBe(200);
  expect(await readNewestSeq(site)).toBe(seq);
  for (let round = 251; round <= 500; round += 1) {
    expect((await beat(round, round % 2 === 0 ? "desk" : "laptop")).status).toBe(200);
  }
  expect(await readNewestSeq(site)).toBe(seq + 1);
  const registrations = (await (await site.get("/api/admin/v1/registrations")).json()) as unknown[];
  expect(registrations).toMatchObject([
    { user: "ada", user_info: makeUserInfo(500), os_hostname: "desk" },
  ]);
});

test("a client over its audit budget gets 429, but heartbeats, returns and other clients are served", async () => {
  const site = await openLicensedSite("--audit-budget", "1");
  for (const user of ["ada", "bob"]) {
    expect((await site.post("/api/v4/register", { user })).status).toBe(200);
  }
  let refused: Response | null = null;
  for (let round = 0; refused === null && round < 2_000; round += 1) {
    const fields = { user: "flood", user_info: makeUserInfo(round) };
    const answer = await site.post("/api/v4/register", fields);
    if (answer.status === 429) refused = answer;
    else {
      expect(answer.status).toBe(200);
      expect((await site.post("/api/v4/unregister", { user: "flood" })).status).toBe(200);
    }
  }
  expect(refused?.status).toBe(429);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({
    status: 429,
    code: "audit_budget_exhausted",
    message: expect.stringContaining("1 MiB an hour"),
  });
  for (let round = 0; round < 50; round += 1) {
    const fields = { user: "ada", os_hostname: `desk-${round}`, user_info: makeUserInfo(round) };
    expect((await site.post("/api/v4/register", fields)).status).toBe(200);
  }
  expect((await site.post("/api/v4/unregister", { user: "bob" })).status).toBe(200);
  expect((await site.get("/api/v4/license?product=cad")).status).toBe(200);
  const other = { user: "other", user_info: makeUserInfo(0) };
  expect(await callFrom("127.0.0.2", Number(site.port), "/api/v4/register", other)).toBe(200);
  const released = await site.runCommand(["release", "--user", "ada"]);
  expect([released.code, released.stderr]).toEqual([0, ""]);
});
