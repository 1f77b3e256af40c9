import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  admitHost,
  auditTypesOn,
  createDatabase,
  formPair,
  makeHost,
  newFile,
  readPair,
  refusalOfServer,
  refusalOn,
  runOrThrowOn,
  serveOn,
  waitForLeader,
  type Host,
} from "./hosts-of-pair.ts";
import { changeJweHeader } from "../support/jwe-header.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

const cluster = PostgresCluster.start();
afterAll(() => cluster.remove());

describe("a host that was alone and a new one", () => {
  test("form a pair, in which either can lead", async () => {
    const { alpha, beta, files } = await formPair(cluster);
    const [onBeta, onAlpha] = files.fingerprints;
    expect(onAlpha).toBe(onBeta);
    expect(onAlpha).toMatch(/^(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}$/);
    const { pair } = await readPair(beta);
    expect(pair).toMatchObject({ host: "beta", role: "standby", leader: "alpha" });
    expect(pair?.hosts.map(({ name, role }) => [name, role])).toEqual([
      ["alpha", "leader"],
      ["beta", "standby"],
    ]);
    expect(await runOrThrowOn(alpha, ["pair", "hand-over"])).toEqual({ leader: "beta" });
    await waitForLeader(alpha, "beta");
    expect((await readPair(alpha)).pair).toMatchObject({ host: "alpha", role: "standby" });
    expect(await refusalOn(alpha, ["pair", "hand-over"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("beta"),
    });
  });

  test("keep the tokens that were made before", async () => {
    const database = createDatabase(cluster);
    const alpha = makeHost("alpha", database);
    const beta = makeHost("beta", database);
    mkdirSync(alpha.folder);
    const { token } = await runOrThrowOn<{ readonly token: string }>(alpha, ["admin", "token"]);
    const first = await serveOn(alpha);
    await waitForLeader(alpha, "alpha");
    const { admission } = await admitHost(alpha, beta);
    await runOrThrowOn(beta, ["pair", "join", admission], beta.pairFlags);
    const second = await serveOn(beta);
    for (const { url } of [first, second]) {
      const readAs = (headers: Record<string, string>) =>
        fetch(`${url}/api/admin/v1/pair`, { headers });
      expect((await readAs({})).status).toBe(401);
      expect((await readAs({ authorization: `Bearer ${token}` })).status).toBe(200);
    }
  });
});

describe("berth pair admit", () => {
  const admit = (host: Host, request: string) =>
    refusalOn(host, ["pair", "admit", request, newFile("admission")], ["--yes"]);

  test("refuses what is not a request, and hosts that do not fit", async () => {
    const { alpha, files } = await formPair(cluster);
    const request = JSON.parse(readFileSync(files.request, "utf8")) as object;
    const changed = (members: object): string => {
      const path = newFile("request");
      writeFileSync(path, JSON.stringify({ ...request, ...members }));
      return path;
    };
    expect((await admit(alpha, files.admission)).stderr).toContain("is not a request");
    expect((await admit(alpha, changed({ host: "gamma" }))).stderr).toContain("pair_complete");
    expect((await admit(alpha, changed({ host: "alpha" }))).stderr).toContain("pair_host_taken");
    expect((await admit(alpha, changed({ version: "0.0.1" }))).stderr).toContain(
      "pair_version_differs",
    );
    expect((await admit(alpha, changed({ made_at: Date.now() + 3_600_000 }))).stderr).toContain(
      "pair_clock_differs",
    );
    // The fingerprint must be compared: without a terminal, --yes is required.
    const words = ["pair", "admit", files.request, newFile("admission")];
    expect(await refusalOn(alpha, words)).toMatchObject({ code: 2 });
  });

  test("refuses on a host that is alone, or whose server does not run", async () => {
    const alpha = makeHost("alpha", "");
    const request = newFile("request");
    await runOrThrowOn(makeHost("beta", ""), ["pair", "request", request]);
    mkdirSync(alpha.folder);
    await runOrThrowOn(alpha, ["admin", "token"]);
    expect((await admit(alpha, request)).stderr).toContain("no server is running");
    await serveOn(alpha, { isAlone: true });
    expect((await admit(alpha, request)).stderr).toContain("not_a_pair");
  });
});

describe("berth pair join", () => {
  const tryToJoin = (host: Host, file: string) =>
    refusalOn(host, ["pair", "join", file], host.pairFlags);

  test("refuses a wrong, a foreign, a damaged and a used file, and changes nothing", async () => {
    const { alpha, beta, files, database } = await formPair(cluster);
    const gamma = makeHost("gamma", database);
    const { admission } = files;
    expect((await tryToJoin(gamma, admission)).stderr).toContain(
      "no request to join a pair is open",
    );
    await runOrThrowOn(gamma, ["pair", "request", newFile("request")], ["--pair-host", "gamma"]);
    expect((await tryToJoin(gamma, admission)).stderr).toContain("is for host beta");
    const backup = newFile("site.berth");
    await runOrThrowOn({ ...alpha, flags: alpha.flags.slice(0, 2) }, ["backup", backup]);
    expect((await tryToJoin(gamma, backup)).stderr).toContain("is not a file of berth pair admit");
    expect((await tryToJoin(beta, admission)).stderr).toContain("can be used once");
    expect(existsSync(join(gamma.folder, "state.json"))).toBe(false);
  });

  test("refuses a file in which a byte was changed, or that was cut short", async () => {
    const database = createDatabase(cluster);
    const alpha = makeHost("alpha", database);
    const beta = makeHost("beta", database);
    await serveOn(alpha);
    await waitForLeader(alpha, "alpha");
    const { admission } = await admitHost(alpha, beta);
    const bytes = readFileSync(admission);
    const changes: readonly Uint8Array[] = [
      bytes.with(bytes.length - 40, (bytes.at(-40) ?? 0) ^ 1),
      bytes.subarray(0, -1),
      bytes.subarray(0, bytes.indexOf(10) + 1),
      Buffer.from(changeJweHeader(bytes.toString(), { host: "bete" })),
    ];
    for (const [index, change] of changes.entries()) {
      const path = newFile(`damaged-${index}`);
      writeFileSync(path, change);
      expect((await tryToJoin(beta, path)).stderr).toMatch(
        /damaged or incomplete|admitted as bete/,
      );
    }
    const noLog = await refusalOn(beta, ["pair", "join", admission], ["--pair-host", "beta"]);
    expect(noLog.stderr).toContain("pair_log is not set");
    const otherName = ["--pair-host", "delta", "--pair-log", database];
    expect((await refusalOn(beta, ["pair", "join", admission], otherName)).stderr).toContain(
      'set pair_host = "beta"',
    );
    const otherLog = { ...beta, pairFlags: makeHost("beta", createDatabase(cluster)).pairFlags };
    expect((await tryToJoin(otherLog, admission)).stderr).toContain("belongs to log");
    expect(existsSync(join(beta.folder, "state.json"))).toBe(false);
    await runOrThrowOn(beta, ["pair", "join", admission], beta.pairFlags);
  });
});

describe("a host of a pair", () => {
  test("stops without an error, on standby and as the leader", async () => {
    const { servers } = await formPair(cluster);
    expect(await servers.beta.stop()).toBe(0);
    expect(await servers.alpha.stop()).toBe(0);
  });

  test("refuses to serve without pair_log, to be moved and to be restored", async () => {
    const { alpha, beta, servers } = await formPair(cluster);
    expect(
      (await refusalOn(alpha, ["move", "out", newFile("site.move")], ["--yes"])).stderr,
    ).toContain("in_a_pair");
    expect(await servers.beta.stop()).toBe(0);
    const backup = newFile("site.berth");
    const folder = beta.flags.slice(0, 2);
    await runOrThrowOn({ ...beta, flags: folder }, ["backup", backup]);
    const restore = await refusalOn({ ...beta, flags: folder }, ["restore", backup]);
    expect([restore.code, restore.stderr]).toEqual([
      1,
      expect.stringContaining("is of a pair (alpha and beta)"),
    ]);
    const renamed = beta.pairFlags.map((flag) => (flag === "beta" ? "gamma" : flag));
    const unknown = await refusalOfServer({ ...beta, pairFlags: renamed });
    expect([unknown.code, unknown.stderr]).toEqual([
      78,
      expect.stringContaining("gamma is no host of the pair (alpha and beta)"),
    ]);
    const refusal = await refusalOfServer(beta, { isAlone: true });
    expect([refusal.code, refusal.stderr]).toEqual([
      78,
      expect.stringContaining("is of a pair (alpha and beta), and pair_log is not set"),
    ]);
  });
});

describe("berth pair leave", () => {
  test("on the running leader lets it serve alone, and ends the other host", async () => {
    const { alpha, beta, servers } = await formPair(cluster);
    expect((await refusalOn(beta, ["pair", "leave"], ["--yes"])).stderr).toContain("alpha");
    expect(await refusalOn(alpha, ["pair", "leave"])).toMatchObject({ code: 2 });
    expect(await runOrThrowOn(alpha, ["pair", "leave"], ["--yes"])).toEqual({
      host: "alpha",
      without_database: false,
    });
    expect((await fetch(`${servers.alpha.url}/api/v4/license`)).status).toBe(503);
    expect(await servers.alpha.stop()).toBe(0);
    expect(await servers.beta.stop()).toBe(0);
    const withLog = await refusalOfServer(alpha);
    expect([withLog.code, withLog.stderr]).toEqual([78, expect.stringContaining("has ended")]);
    const server = await serveOn(alpha, { isAlone: true });
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect((await readPair(alpha)).pair).toBeNull();
    expect(await auditTypesOn(alpha)).toContain("PairLeft");
    await server.stop();
    const other = await refusalOfServer(beta, { isAlone: true });
    expect([other.code, other.stderr]).toEqual([78, expect.stringContaining("alpha")]);
  });

  test("on a stopped host ends the pair too, unless the other host leads", async () => {
    const { alpha, beta, servers } = await formPair(cluster);
    expect(await servers.alpha.stop()).toBe(0);
    await waitForLeader(beta, "beta");
    const leave = ["pair", "leave"];
    const refused = await refusalOn(alpha, leave, [...alpha.pairFlags, "--yes"]);
    expect(refused.stderr).toContain("host beta leads");
    await servers.beta.stop();
    expect(await runOrThrowOn(alpha, leave, [...alpha.pairFlags, "--yes"])).toMatchObject({
      host: "alpha",
    });
    await serveOn(alpha, { isAlone: true });
    // It has not read yet that the pair ended.
    const other = await serveOn(beta);
    await waitUntil(
      async () => (await readPair(beta)).pair?.problem?.includes("has ended") === true,
    );
    expect((await fetch(`${other.url}/api/v4/health`)).status).toBe(503);
    await other.stop();
    expect((await refusalOfServer(beta)).code).toBe(78);
  });

  test("without the database continues with the copy of the host, and refuses the log", async () => {
    const own = PostgresCluster.start();
    try {
      const { alpha, beta, servers } = await formPair(own);
      const flags = ["--without-database", "--yes"];
      own.stopServer("immediate");
      expect((await refusalOn(beta, ["pair", "leave"], flags)).stderr).toContain("is running");
      await servers.alpha.kill();
      await servers.beta.kill();
      const refused = await refusalOn(beta, ["pair", "leave"], [...beta.pairFlags, "--yes"]);
      expect(refused.stderr).toContain("--without-database");
      const left = await runOrThrowOn(beta, ["pair", "leave"], ["--pair-host", "beta", ...flags]);
      expect(left).toEqual({ host: "beta", without_database: true });
      const server = await serveOn(beta, { isAlone: true });
      expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
      expect(await auditTypesOn(beta)).toContain("PairLeft");
      await server.stop();
      own.startServer();
      const withLog = await refusalOfServer(beta);
      expect([withLog.code, withLog.stderr]).toEqual([78, expect.stringContaining("has ended")]);
      expect((await refusalOfServer(alpha, { isAlone: true })).code).toBe(78);
    } finally {
      own.remove();
    }
  });
});
