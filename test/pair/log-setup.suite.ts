// What a host says when the database of a pair is not set up as it must be.
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { instant } from "../../src/domain/time.ts";
import { openPairLog, type PairOptions } from "../../src/operations/pair/open-log.ts";
import { FolderRefused } from "../../src/store/folder/refusal.ts";
import { refuseServer } from "../../src/store/log/postgres/open-log.ts";
import { LogUnavailable } from "../../src/store/log/shared-log.ts";
import type { LogFolder } from "../../src/store/store-options.ts";
import { atEnd } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, logUrlOf, runSql } from "./test-databases.ts";

const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());

const PASSWORD = "hunter2 with: colon";
const END = { seq: 7, sum: "base" };
const FOLDER: LogFolder = { appliance: "appliance 1", pair: null, end: END };
const inPair = (log: string): LogFolder => ({
  ...FOLDER,
  pair: { log, epoch: 1, leader: "alpha", leadsSince: instant(0), hosts: new Map() },
});

const optionsFor = (text: string, changes: Partial<PairOptions> = {}): PairOptions => ({
  url: logUrlOf(text),
  passwordFile: null,
  passwordCredential: null,
  pgpassFile: null,
  host: "alpha",
  clientUrl: null,
  termMs: 20_000,
  patienceMs: 0,
  ...changes,
});

interface Refusal {
  readonly message: string;
  readonly hint: string;
  readonly needsOperator: boolean;
}

/** Opens the log, and closes it if it was not refused. */
async function refusalOf(
  text: string,
  folder = FOLDER,
  changes: Partial<PairOptions> = {},
): Promise<Refusal | null> {
  try {
    const log = await openPairLog(optionsFor(text, changes), folder);
    await log.close();
    return null;
  } catch (error) {
    if (!(error instanceof FolderRefused || error instanceof LogUnavailable)) throw error;
    const { message, hint } = error;
    expect(Bun.inspect(error)).not.toContain(PASSWORD);
    return { message, hint, needsOperator: error instanceof FolderRefused };
  }
}

const expectRefusal = async (
  refusal: Promise<Refusal | null>,
  message: string,
  hint: string,
): Promise<void> => {
  const found = await refusal;
  expect(found?.message ?? "accepted").toContain(message);
  expect(found?.hint).toContain(hint);
};

const asRole = (url: string, role: string): string => url.replace(/berth@/, `${role}@`);

describe("a database for a pair", () => {
  test("gets a log when a host without one opens it, and the same host opens it again", async () => {
    const { url } = await createDatabase(cluster);
    const log = await openPairLog(optionsFor(url.text), FOLDER);
    expect(await log.readLeader()).toMatchObject({ ...END, epoch: 0, holder: null });
    await log.close();
    expect(await refusalOf(url.text)).toBeNull();
    expect(await refusalOf(url.text, inPair(log.id))).toBeNull();
  });

  test("gets one log if both hosts open it at the same time", async () => {
    const { url } = await createDatabase(cluster);
    const results = await Promise.all([refusalOf(url.text), refusalOf(url.text)]);
    expect(results.filter((result) => result === null).length).toBeGreaterThan(0);
    expect(await runSql(cluster, "SELECT id FROM berth.log", url.database)).toHaveLength(1);
    expect(await refusalOf(url.text)).toBeNull();
  });

  test("is refused with the log of another appliance, which the message names", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    const other = { ...FOLDER, appliance: "appliance 2" };
    const refusal = refusalOf(url.text, other);
    await expectRefusal(
      refusal,
      "appliance 1, and this folder is of appliance 2",
      "an empty database",
    );
  });

  test("is refused with another log than that of the folder, which the message names", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    await expectRefusal(refusalOf(url.text, inPair("lost")), "belongs to log lost", "of that log");
  });

  test("is refused if it is empty and the folder belongs to a pair", async () => {
    const { url } = await createDatabase(cluster);
    const refusal = refusalOf(url.text, inPair("lost"));
    await expectRefusal(refusal, "log lost, and the database is empty", "of that log");
    expect(await runSql(cluster, "SELECT to_regnamespace('berth') AS s", url.database)).toEqual([
      { s: null },
    ]);
  });

  test("is refused if another program has a schema of this name", async () => {
    const { url } = await createDatabase(cluster);
    await runSql(cluster, "CREATE SCHEMA berth", url.database);
    await expectRefusal(refusalOf(url.text), "a schema berth that is not a log", "empty database");
  });

  test("is refused with a log of a newer version", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    await runSql(cluster, "UPDATE berth.log SET format = 3", url.database);
    await expectRefusal(refusalOf(url.text), "a newer version of berth", "start that version");
  });

  test("is refused with a log of Berth 0.2.0 or older, which stays as it is", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    const read = () => runSql(cluster, "SELECT log.xmin, * FROM berth.log", url.database);
    await runSql(cluster, "UPDATE berth.log SET format = 1", url.database);
    const before = await read();
    await expectRefusal(refusalOf(url.text), "has format 1 of Berth 0.2.0 or older", "keep that");
    expect(await read()).toEqual(before);
  });

  test("is refused if its encoding is not UTF-8", async () => {
    const options = "ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'";
    const { url } = await createDatabase(cluster, options);
    await expectRefusal(refusalOf(url.text), "the encoding LATIN1", "--encoding=UTF8");
  });

  test("is refused if its server is older than PostgreSQL 15", () => {
    const server = { version: 140_010, version_text: "14.10", encoding: "UTF8", fsync: "on" };
    expect(() => refuseServer(server)).toThrow("the database is PostgreSQL 14.10");
    expect(() => refuseServer({ ...server, version: 150_000 })).not.toThrow();
  });

  test("is refused if its server does not sync to the disk", async () => {
    const { url } = await createDatabase(cluster);
    const setFsync = async (value: string): Promise<void> => {
      cluster.configure({ fsync: value });
      cluster.reload();
      await waitUntil(async () => (await runSql(cluster, "SHOW fsync"))[0]?.["fsync"] === value);
    };
    await setFsync("off");
    await expectRefusal(refusalOf(url.text), "fsync=off", "fsync = on in postgresql.conf");
    await setFsync("on");
    expect(await refusalOf(url.text)).toBeNull();
  });

  test("is refused if its server or role answers before a change is on the disk", async () => {
    const { url, name } = await createDatabase(cluster);
    await runSql(cluster, `ALTER DATABASE ${name} SET synchronous_commit = off`);
    await expectRefusal(refusalOf(url.text), "synchronous_commit=off", "ALTER ROLE");
    await runSql(cluster, `ALTER DATABASE ${name} RESET synchronous_commit`);
    expect(await refusalOf(url.text)).toBeNull();
  });

  test("is not refused for a setting that each session of the log overrides", async () => {
    const { url, name } = await createDatabase(cluster);
    await runSql(
      cluster,
      `ALTER DATABASE ${name} SET synchronous_commit = local;
       ALTER DATABASE ${name} SET default_transaction_isolation = serializable;
       ALTER DATABASE ${name} SET search_path = nowhere`,
    );
    expect(await refusalOf(url.text)).toBeNull();
  });
});

describe("the role of a log", () => {
  beforeAll(async () => {
    await runSql(
      cluster,
      `CREATE ROLE reader LOGIN; CREATE ROLE frozen LOGIN;
       ALTER ROLE frozen SET default_transaction_read_only = on`,
    );
  });

  test("is refused if it may not create the log", async () => {
    const { url } = await createDatabase(cluster);
    const refusal = refusalOf(asRole(url.text, "reader"));
    await expectRefusal(refusal, "may not write", "OWNER TO reader");
  });

  test("is refused if it may only read the log", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    await runSql(
      cluster,
      `GRANT USAGE ON SCHEMA berth TO reader;
       GRANT SELECT ON ALL TABLES IN SCHEMA berth TO reader`,
      url.database,
    );
    await expectRefusal(refusalOf(asRole(url.text, "reader")), "may not write", "ALTER DATABASE");
  });

  test("is refused if it may not even read the log", async () => {
    const { url } = await createDatabase(cluster);
    await refusalOf(url.text);
    await expectRefusal(refusalOf(asRole(url.text, "reader")), "may not write", "ALTER DATABASE");
  });

  test("is refused if its transactions are read-only", async () => {
    const { url } = await createDatabase(cluster);
    const refusal = refusalOf(asRole(url.text, "frozen"));
    await expectRefusal(refusal, "may only read", "RESET default_transaction_read_only");
  });

  test("needs only the database, not special rights", async () => {
    await runSql(cluster, "CREATE ROLE plain LOGIN");
    const { url } = await createDatabase(cluster, "OWNER plain");
    const log = await openPairLog(optionsFor(asRole(url.text, "plain")), FOLDER);
    const epoch = (await log.claimTerm(1_000))?.epoch ?? NaN;
    expect(await log.writeFile(epoch, "one", new Uint8Array(3))).toBe(1);
    expect(await log.readDatabase()).toMatchObject({ problems: ["not_replicated"] });
    await log.close();
  });
});

describe("the password of a log", () => {
  const role = "secretive";
  let url = "";

  beforeAll(async () => {
    await runSql(cluster, `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    url = asRole((await createDatabase(cluster, `OWNER ${role}`)).url.text, role);
    cluster.addAccessRule(`host all ${role} 127.0.0.1/32 scram-sha-256`);
    await waitUntil(async () => (await refusalOf(url)) !== null);
  });

  const fileWith = (content: string): string => {
    const path = join(tempFolder(), "password");
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };

  test("is taken from a file, a credential or .pgpass", async () => {
    const pgpass = `127.0.0.1:${cluster.port}:*:${role}:${PASSWORD.replace(":", "\\:")}\n`;
    for (const sources of [
      { passwordFile: fileWith(`${PASSWORD}\n`) },
      { passwordCredential: PASSWORD },
      { pgpassFile: fileWith(pgpass) },
    ]) {
      expect(await refusalOf(url, FOLDER, sources)).toBeNull();
    }
  });

  test("is not taken from the variable PGPASSWORD", async () => {
    process.env["PGPASSWORD"] = PASSWORD;
    try {
      await expectRefusal(refusalOf(url), "password authentication failed", "--pair-log-password");
    } finally {
      delete process.env["PGPASSWORD"];
    }
  });

  test("is refused with a hint if it is wrong, and is in no message", async () => {
    const wrong = `${PASSWORD} but wrong`;
    const refusal = await refusalOf(url, FOLDER, { passwordCredential: wrong });
    expect(refusal).toMatchObject({ needsOperator: true });
    expect(refusal?.message).toContain('password authentication failed for user "secretive"');
    expect(JSON.stringify(refusal)).not.toContain(PASSWORD);
  });
});

describe("a database that does not answer", () => {
  test("is refused without waiting if it does not exist on the server", async () => {
    const refusal = await refusalOf(cluster.url.replace(/postgres$/, "missing"));
    expect(refusal).toMatchObject({ needsOperator: true });
    expect(refusal?.hint).toContain("createdb --owner=berth --encoding=UTF8");
  });

  test("may be reached later if its port is closed or its host has no address", async () => {
    for (const server of ["127.0.0.1:1", "database.invalid"]) {
      const refusal = await refusalOf(`postgres://berth@${server}/berth`);
      expect(refusal).toMatchObject({ needsOperator: false });
      expect(refusal?.message).toContain(`cannot be used: ${server}`);
      expect(refusal?.hint).toContain("check that the database of the pair runs");
    }
  });

  test("is waited for by a host of a pair", async () => {
    const { url } = await createDatabase(cluster);
    const log = await openPairLog(optionsFor(url.text), FOLDER);
    await log.close();
    cluster.stopServer("fast");
    const opening = refusalOf(url.text, inPair(log.id), { patienceMs: 120_000 });
    // The first attempt fails meanwhile.
    await Bun.sleep(500);
    cluster.startServer();
    expect(await opening).toBeNull();
  });
});
