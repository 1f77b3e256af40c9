import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { routes } from "../support/routes.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import {
  basicAuthHeader,
  bearerHeader,
  expectLogLines,
  RunningSite,
  PASSWORD,
} from "../support/running-site.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

const STATUS = "/api/admin/v1/status";
const ACCESS = "/api/admin/v1/access";

const adminRoutes = [...routes].flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, plane]) =>
    plane === "admin" ? [{ path, method }] : [],
  ),
);

/** The access changes in the journal of a folder that is in use. */
const readAccessEvents = (folder: string): unknown[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith("journal-"))
    .toSorted()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
    .filter((line) => line !== "")
    .flatMap((line) => (JSON.parse(line) as { events: { type: string }[] }).events)
    .filter(({ type }) => type === "AccessChanged");

test("the first token ends admin access without a credential from the machine itself, for good", async () => {
  const site = await RunningSite.open();
  await site.waitForStderr("administration is open");
  expect((await site.get(STATUS)).status).toBe(200);
  const token = await site.createToken("--name", "ops");
  const expectTokenRequired = async (): Promise<void> => {
    for (const { path, method } of adminRoutes) {
      const response = await fetch(`http://127.0.0.1:${site.port}${path}`, { method });
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.json()).toMatchObject({ status: 401, code: "unauthorized" });
    }
    expect((await site.get(STATUS, bearerHeader(token))).status).toBe(200);
    expect((await site.runCommand(["status"])).code).toBe(0);
  };
  await expectTokenRequired();
  await site.restart();
  expect(site.server.stderr()).not.toContain("administration is open");
  await expectTokenRequired();
  expect(modeOf(join(site.folder, "access.json"))).toBe("600");
  expect(modeOf(join(site.folder, "berth.sock"))).toBe("600");
});

test("an admin route refuses every altered or malformed bearer token", async () => {
  const site = await RunningSite.open();
  const token = await site.createToken();
  const wrong = [
    "",
    "Bearer",
    "Bearer ",
    token,
    `Basic ${btoa(`admin:${token}`)}`,
    `Bearer ${token} `.trimEnd() + "x",
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token.toUpperCase()}`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer ${token} ${token}`,
    `Bearer "${token}"`,
    `Bearer ${"A".repeat(4_000)}`,
    "Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.",
  ];
  for (const authorization of wrong) {
    expect([authorization, (await site.get(STATUS, { authorization })).status]).toEqual([
      authorization,
      401,
    ]);
  }
  const twice = new Headers(bearerHeader(token));
  twice.append("authorization", `Bearer ${token}`);
  expect(
    (await fetch(`${site.server.url.replace(/\/$/, "")}${STATUS}`, { headers: twice })).status,
  ).toBe(401);
  expect((await site.get(STATUS, { authorization: `bearer ${token}` })).status).toBe(200);
});

test("tokens and users can be added and removed, but the last admin credential cannot", async () => {
  const site = await RunningSite.open();
  const first = await site.createToken("--name", "first");
  const second = await site.createToken("--name", "second", "--days", "1");
  expect((await site.runCommand(["admin", "token", "--name", "second"])).stderr).toContain(
    "name_taken",
  );
  expect((await site.runCommand(["admin", "token", "--revoke", "second"])).code).toBe(0);
  expect((await site.get(STATUS, bearerHeader(second))).status).toBe(401);
  const last = await site.runCommand(["admin", "token", "--revoke", "first"]);
  expect([last.code, last.stderr]).toEqual([1, expect.stringContaining("last_credential")]);
  expect((await site.get(STATUS, bearerHeader(first))).status).toBe(200);

  expect((await site.runCommand(["admin", "password"], `${PASSWORD}\n`)).code).toBe(0);
  expect((await site.runCommand(["admin", "token", "--revoke", "first"])).code).toBe(0);
  const demotion = await site.runCommand(["admin", "user", "add", "admin"], PASSWORD);
  expect(demotion.stderr).toContain("last_credential");
  expect((await site.runCommand(["admin", "user", "add", "ada"], PASSWORD)).code).toBe(0);
  expect((await site.runCommand(["admin", "user", "remove", "admin"])).code).toBe(1);
  await site.restart();
  const list = (await site.runCommand(["admin", "user", "list"])).stdout;
  expect(list).toMatch(/user\s+admin\s+admin/);
  expect(list).toMatch(/user\s+ada\s+user/);
  expect((await site.get("/auth", basicAuthHeader("admin", PASSWORD))).status).toBe(200);
});

test("an expired token is refused, and admin access does not become open again", async () => {
  const site = await RunningSite.open();
  const token = await site.createToken("--days", "1");
  expect((await site.get(STATUS, bearerHeader(token))).status).toBe(200);
  await site.server.stop();
  const path = join(site.folder, "access.json");
  const list = JSON.parse(readFileSync(path, "utf8")) as { tokens: { endsAt: number }[] };
  for (const listed of list.tokens) listed.endsAt = Date.now() - 1_000;
  writeFileSync(path, JSON.stringify(list));
  await site.restart();
  expect((await site.get(STATUS, bearerHeader(token))).status).toBe(401);
  expect((await site.get(STATUS)).status).toBe(401);
});

test("a password must have 12 characters, comes from standard input, and is never written to files or logs", async () => {
  const site = await RunningSite.open(["--log", "requests"]);
  const short = await site.runCommand(["admin", "user", "add", "ada"], "eleven char\n");
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining("12 characters")]);
  const none = await site.runCommand(["admin", "password"], "");
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining("standard input contains no password"),
  ]);
  const onCommandLine = await site.runCommand(["admin", "password", "--password", PASSWORD]);
  expect(onCommandLine.code).toBe(2);

  const token = await site.createToken();
  await site.runCommand(["admin", "password"], PASSWORD);
  await site.get("/auth", basicAuthHeader("admin", PASSWORD));
  await site.post(`${ACCESS}/users`, { name: "bob", password: PASSWORD }, bearerHeader(token));
  await site.get(
    `/auth?password=${encodeURIComponent(PASSWORD)}`,
    basicAuthHeader("admin", `${PASSWORD}!`),
  );
  const log = site.server.stderr();
  await site.server.stop();
  const files = readdirSync(site.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), token, token.slice(6)]) {
    expect([...files, log].filter((text) => text.includes(secret))).toEqual([]);
    expect([...files, log].filter((text) => text.includes(btoa(secret)))).toEqual([]);
  }
});

test("an access change is written with its actor and address to the journal and to the log", async () => {
  const site = await RunningSite.open();
  const token = await site.createToken("--name", "ops");
  await site.post(`${ACCESS}/users`, { name: "ada", password: PASSWORD }, bearerHeader(token));
  expect(readAccessEvents(site.folder)).toMatchObject([
    { change: "token_made", name: "ops", peer: "socket" },
    { change: "user_set", name: "ada", peer: "ops@127.0.0.1" },
  ]);
  expectLogLines(await site.waitForLogLines(2), [
    { message: "admin action", path: `${ACCESS}/tokens`, peer: "socket" },
    {
      message: "admin action",
      path: `${ACCESS}/users`,
      peer: "127.0.0.1",
      actor: "ops",
    },
  ]);
});

test("user and token names that are empty, too long or have unsafe characters are refused", async () => {
  const site = await RunningSite.open();
  const names = [
    "a\nb",
    "a\u2028b",
    "\u202eroot",
    "a\u0000b",
    "a\u200bb",
    "",
    "x:y",
    "n".repeat(300),
  ];
  for (const name of names) {
    for (const path of ["users", "tokens"]) {
      const response = await site.post(`${ACCESS}/${path}`, { name, password: PASSWORD });
      expect([name, path, response.status]).toEqual([name, path, 400]);
    }
  }
  expect(
    (await site.post(`${ACCESS}/tokens`, { name: "root@10.0.0.1", role: "admin" })).status,
  ).toBe(400);
  expect(readAccessEvents(site.folder)).toEqual([]);
});

test("concurrent token changes are applied one by one and never remove the last credential", async () => {
  const site = await RunningSite.open();
  const token = await site.createToken();
  const names = Array.from({ length: 30 }, (_, index) => `job-${index % 15}`);
  const created = await Promise.all(
    names.map((name) =>
      site.post(`${ACCESS}/tokens`, { name, role: "admin" }, bearerHeader(token)),
    ),
  );
  expect(created.filter(({ status }) => status === 200)).toHaveLength(15);
  const revoked = await Promise.all(
    ["admin", ...new Set(names)].map((name) =>
      site.post(`${ACCESS}/tokens/revoke`, { name }, bearerHeader(token)),
    ),
  );
  // Revoking all would leave no credential: at least one is refused, in whatever order they came.
  expect(revoked.filter(({ status }) => status === 200).length).toBeLessThan(16);
  await site.restart();
  const { tokens } = JSON.parse(
    (await site.runCommand(["admin", "user", "list", "--json"])).stdout,
  ) as {
    tokens: unknown[];
  };
  expect(tokens.length).toBeGreaterThanOrEqual(1);
  expect((await site.get(STATUS)).status).toBe(401);
});

test("an access change that cannot be written to disk is refused, and access and journal stay unchanged", async () => {
  const site = await RunningSite.open();
  const blockingFolder = join(site.folder, "access.json.new");
  mkdirSync(blockingFolder);
  const ops = { name: "ops", role: "admin" };
  const refused = await site.post(`${ACCESS}/tokens`, ops);
  expect([refused.status, await refused.json()]).toEqual([
    503,
    expect.objectContaining({ code: "storage_failed" }),
  ]);
  expect((await site.get(STATUS)).status).toBe(200);
  expect(readAccessEvents(site.folder)).toEqual([]);
  rmdirSync(blockingFolder);
  const token = await site.createToken("--name", "ops");
  expect(readAccessEvents(site.folder)).toHaveLength(1);
  mkdirSync(blockingFolder);
  const more = { name: "more", role: "admin" };
  expect((await site.post(`${ACCESS}/tokens`, more, bearerHeader(token))).status).toBe(503);
  rmdirSync(blockingFolder);
  await site.restart();
  expect(readAccessEvents(site.folder)).toHaveLength(1);
  expect((await site.get(STATUS, bearerHeader(token))).status).toBe(200);
});

test("a damaged access.json keeps the server from starting, with a hint to berth admin token", async () => {
  const site = await RunningSite.open();
  await site.createToken();
  await site.server.stop();
  const path = join(site.folder, "access.json");
  writeFileSync(path, readFileSync(path, "utf8").slice(0, -20));
  expect(startBinary("serve", "--data", site.folder, "--listen", "127.0.0.1:0")).rejects.toThrow(
    /access\.json is damaged[\s\S]*berth admin token/,
  );
  expect((await runBinary(["status", "--data", site.folder])).code).toBe(78);
});

test("restoring a backup does not reopen admin access, and neither revives nor ends a credential", async () => {
  const site = await RunningSite.open();
  const backups = ["before", "with"].map((name) => join(tempFolder(), `${name}.berth`));
  const [before = "", withToken = ""] = backups;
  expect((await site.runCommand(["backup", before])).code).toBe(0);
  const revoked = await site.createToken("--name", "revoked");
  const kept = await site.createToken("--name", "kept");
  expect((await site.runCommand(["backup", withToken])).code).toBe(0);
  expect((await site.runCommand(["admin", "token", "--revoke", "revoked"])).code).toBe(0);
  for (const [backup, lost] of [
    [before, "3 changes lost"],
    [withToken, "unknown how many changes were lost"],
  ] as const) {
    await site.server.stop();
    const restored = await site.runCommand(["restore", backup, "--accept-loss"]);
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining(lost)]);
    await site.restart();
    const statuses = [{}, bearerHeader(revoked), bearerHeader(kept)].map(
      async (headers) => (await site.get(STATUS, headers)).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
  }
});
