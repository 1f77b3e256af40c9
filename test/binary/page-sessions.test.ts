// Sessions of the operator's page with the compiled executable: restarts, commands and the log.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bearerHeader, RunningSite } from "../support/running-site.ts";

const STATUS = "/api/admin/v1/status";
const SESSIONS = "/api/admin/v1/sessions";

interface Session {
  readonly id: string;
  readonly token: string;
}

async function signIn(site: RunningSite, token: string): Promise<Session> {
  const response = await site.post(SESSIONS, {}, bearerHeader(token));
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly session: Session }).session;
}

const statusWith = async (site: RunningSite, token: string): Promise<number> =>
  (await site.get(STATUS, bearerHeader(token))).status;

test("a session survives a stop and a kill of the server, and its secret is in no file and no log", async () => {
  const site = await RunningSite.open(["--log", "requests"]);
  const session = await signIn(site, await site.createToken());
  await site.restart();
  expect(await statusWith(site, session.token)).toBe(200);
  await site.server.kill();
  await site.restart();
  expect(await statusWith(site, session.token)).toBe(200);
  const file = readFileSync(join(site.folder, "access.json"), "utf8");
  expect(file).toContain(session.id);
  for (const text of [file, site.server.stderr()]) expect(text).not.toContain(session.token);
});

test("berth admin session lists a session and ends it, for good", async () => {
  const site = await RunningSite.open();
  const session = await signIn(site, await site.createToken("--name", "ops"));
  const list = await site.runCommand(["admin", "session", "list"]);
  expect(list.stdout).toMatch(new RegExp(`${session.id} +ops +admin .* 127\\.0\\.0\\.1\n`));
  const revoked = await site.runCommand(["admin", "session", "revoke", session.id]);
  expect([revoked.code, revoked.stdout]).toEqual([0, `session ${session.id} is revoked\n`]);
  expect(await statusWith(site, session.token)).toBe(401);
  await site.restart();
  expect(await statusWith(site, session.token)).toBe(401);
  const again = await site.runCommand(["admin", "session", "revoke", session.id]);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/unknown_session[\s\S]*berth admin session list/),
  ]);
  expect((await site.runCommand(["admin", "session", "list"])).stdout).toBe("no sessions\n");
});

test("the last use of a token is saved when the server stops", async () => {
  const site = await RunningSite.open();
  const token = await site.createToken("--name", "ops");
  expect((await site.runCommand(["admin", "user", "list"])).stdout).toContain("not used");
  expect(await statusWith(site, token)).toBe(200);
  await site.server.stop();
  const list = (await site.runCommand(["admin", "user", "list"])).stdout;
  expect(list).not.toContain("not used");
  expect(list).toContain("127.0.0.1");
});
