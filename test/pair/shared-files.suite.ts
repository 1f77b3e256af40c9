// What an administrator changes on the host that leads counts on the other one, also if the leader
// is killed right after its reply. The database gets nothing that can be used.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IDENTITY_FILE } from "../../src/store/folder/files.ts";
import { runBinary, type CommandResult } from "../support/binary.ts";
import { basicAuthHeader, bearerHeader } from "../support/running-site.ts";
import { cleanUp } from "../support/suite-harness.ts";
import { AdministeredPair, ADMIN, tokenOf, type Host } from "./administered-pair.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { runSql } from "./test-databases.ts";

const cluster = PostgresCluster.start();
afterAll(() => {
  cleanUp();
  cluster.remove();
});

const PASSWORD = "correct horse battery";
const OTHER_PASSWORD = "battery horse correct";
const KEYS = { apiKey: "the-api-key-of-the-site", sharedKey: "the-shared-key-of-the-site" };

const runOn = ({ folder }: Host, ...args: readonly string[]): Promise<CommandResult> =>
  runBinary([...args, "--data", folder, "--json"]);

/** A pair, and the headers of an administrator. */
async function startPair() {
  const pair = await AdministeredPair.start(cluster);
  const made = await runOn(pair.leader, "admin", "token");
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const token = tokenOf(JSON.parse(made.stdout) as Record<string, unknown>);
  return { pair, token, admin: bearerHeader(token) };
}

/** At the same time: most of the time each of them waits for the end of a term. */
describe("after a leader is killed right after its reply, the other host", () => {
  test.concurrent("has the tokens and sessions of that reply", async () => {
    const { pair, admin } = await startPair();
    const statusOf = async (token: string): Promise<number> =>
      (await pair.call(`${ADMIN}/access`, bearerHeader(token))).status;
    const body = { name: "second", role: "viewer" };
    const second = tokenOf(await pair.callOrThrow(`${ADMIN}/access/tokens`, admin, body));
    await pair.killLeader();
    expect(await statusOf(second)).toBe(200);
    await pair.callOrThrow(`${ADMIN}/access/tokens/revoke`, admin, { name: "second" });
    await pair.killLeader();
    expect(await statusOf(second)).toBe(401);
    const session = await pair.startSession(admin);
    await pair.killLeader();
    expect(await statusOf(session)).toBe(200);
  });

  test.concurrent("has the users of that reply, with their last passwords", async () => {
    const { pair, admin } = await startPair();
    for (const password of [PASSWORD, OTHER_PASSWORD]) {
      const user = { name: "ada", role: "admin", password };
      await pair.callOrThrow(`${ADMIN}/access/users`, admin, user);
      await pair.killLeader();
      const logIn = (tried: string) => pair.call("/auth", basicAuthHeader("ada", tried));
      expect(await logIn(password)).toMatchObject({ status: 200 });
      if (password !== PASSWORD) expect(await logIn(PASSWORD)).toMatchObject({ status: 401 });
    }
  });

  test.concurrent("has the keys and settings of that reply", async () => {
    const { pair, admin } = await startPair();
    await pair.callOrThrow("/api/v4/setKeys", admin, KEYS);
    await pair.killLeader();
    // It names only what is different from what it has.
    expect(await pair.call("/api/v4/setKeys", admin, KEYS)).toMatchObject({
      status: 200,
      reply: { updated: [] },
    });
    const changes = { site_name: "Plant 4" };
    await pair.callOrThrow(`${ADMIN}/settings`, admin, { changes });
    await pair.killLeader();
    const { settings } = await pair.callOrThrow(`${ADMIN}/settings`, admin);
    expect(settings).toContainEqual(
      expect.objectContaining({ name: "site_name", value: "Plant 4", source: "page" }),
    );
  });
});

describe("the database of a pair", () => {
  test("contains no token, password, key, or digest of one", async () => {
    const { pair, token, admin } = await startPair();
    const user = { name: "ada", role: "admin", password: PASSWORD };
    await pair.callOrThrow(`${ADMIN}/access/users`, admin, user);
    const session = await pair.startSession(admin);
    await pair.callOrThrow("/api/v4/setKeys", admin, KEYS);
    const access = readFileSync(join(pair.leader.folder, "access.json"), "utf8");
    const digests = [...access.matchAll(/"(?:sha256|argon2id)": "([^"]+)"/g)].map(
      ([, digest = ""]) => digest,
    );
    expect(digests).toHaveLength(3);
    const text = await dumpDatabase(pair);
    expect(text).toContain("LeaderChanged");
    for (const secret of [token, PASSWORD, session, ...Object.values(KEYS), ...digests]) {
      expect(text).not.toContain(secret);
    }
    // From it, the key of the copies is derived.
    const identity = readFileSync(join(pair.leader.folder, IDENTITY_FILE), "utf8");
    const { d } = JSON.parse(identity) as { readonly d: string };
    expect(text).not.toContain(d);
  });
});

describe("a command on a host of a pair", () => {
  test("changes the site through the server that leads, and is refused where the other one leads", async () => {
    const pair = await AdministeredPair.start(cluster);
    const { leader, standby } = pair;
    for (const command of [["admin", "token"], ["slots"], ["rules", "clear"]]) {
      const { code, stdout } = await runOn(standby, ...command);
      expect([code, JSON.parse(stdout)]).toEqual([
        1,
        expect.objectContaining({
          code: "standby",
          hint: expect.stringContaining(`run the command on host ${leader.name};`),
        }),
      ]);
    }
    expect((await runOn(leader, "admin", "token")).code).toBe(0);
    expect((await runOn(leader, "slots")).code).toBe(0);
  });
});

/** All rows of all tables, with files as bytes. */
async function dumpDatabase({ database }: AdministeredPair): Promise<string> {
  const texts: string[] = [];
  for (const table of ["log", "journal", "leader", "host"]) {
    const rows = await runSql(cluster, `SELECT t::text AS row FROM berth.${table} t`, database);
    texts.push(...rows.map(({ row }) => String(row)));
  }
  const files = await runSql(
    cluster,
    "SELECT name, content FROM berth.file ORDER BY name",
    database,
  );
  expect(files.map(({ name }) => name)).toEqual(["access", "keys", "settings"]);
  for (const { content } of files) {
    expect(content).toBeInstanceOf(Uint8Array);
    texts.push(Buffer.from(content as Uint8Array).toString("latin1"));
  }
  return texts.join("\n");
}
