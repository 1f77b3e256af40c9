// The log of a pair in a database with a standby: what happens when a server, a connection or a wait
// between them ends.
import { beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { PostgresLog } from "../../src/store/log/postgres/postgres-log.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import { LogUnavailable, type LogEnd } from "../../src/store/log/shared-log.ts";
import type { LineBatch } from "../../src/store/journal/batch-writer.ts";
import { testLogContract } from "../store/log/log-contract.ts";
import { atEnd } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, logUrlOf, PATIENT, runSql } from "./test-databases.ts";

const LONG = 3_600_000;
const BASE: LogEnd = { seq: 7, sum: "base" };

interface Servers {
  readonly primary: PostgresCluster;
  readonly standby: PostgresCluster;
}

/** A server with a standby; its changes wait for it if `isSynchronous`. */
function startServers(isSynchronous: boolean): Servers {
  const primary = PostgresCluster.start();
  atEnd(() => primary.remove());
  const standby = primary.startStandby("standby");
  atEnd(() => standby.remove());
  if (isSynchronous) primary.configure({ synchronous_standby_names: "standby" });
  primary.reload();
  return { primary, standby };
}

interface TestLog {
  readonly alpha: PostgresLog;
  readonly beta: PostgresLog;
  readonly restartedAlpha: PostgresLog;
  /** Another connection of a host, with a time limit. */
  readonly connect: (host: string, deadlineMs?: number) => PostgresLog;
}

/** A new log, which its hosts reach at both servers. */
async function makeLog({ primary, standby }: Servers, end: LogEnd): Promise<TestLog> {
  const { name: id, url } = await createDatabase(primary);
  const creator = new LogConnection({ ...PATIENT, url });
  await createLog(creator, { id, appliance: "appliance", end });
  creator.close();
  const both = logUrlOf(
    `postgres://berth@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${url.database}`,
  );
  const connect = (host: string, deadlineMs: number = PATIENT.deadlineMs): PostgresLog => {
    const options = { ...PATIENT, url: both, host, clientUrl: null, name: host, deadlineMs };
    const log = new PostgresLog(id, options);
    onTestFinished(() => log.close());
    return log;
  };
  return {
    alpha: connect("alpha"),
    beta: connect("beta"),
    restartedAlpha: connect("alpha"),
    connect,
  };
}

const batchAfter = ({ seq, sum }: LogEnd, text: string): LineBatch => ({
  firstSeq: seq + 1,
  lastSeq: seq + 1,
  prev: sum,
  sum: `sum of ${text}`,
  texts: [`${text}\n`],
});

const endOf = ({ lastSeq: seq, sum }: LineBatch): LogEnd => ({ seq, sum });

const textsOf = async (log: PostgresLog): Promise<string[]> =>
  (await log.readLines(0, 100)).map(({ text }) => text.trimEnd());

const problemOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `no problem: ${String(value)}`,
    (error: unknown) => {
      expect(error).toBeInstanceOf(LogUnavailable);
      return (error as Error).message;
    },
  );

/** The process on the server that waits for the standby. */
async function findWaitingProcess(primary: PostgresCluster): Promise<number> {
  let pid = 0;
  await waitUntil(async () => {
    const [row] = await runSql(
      primary,
      `SELECT pid FROM pg_stat_activity
       WHERE wait_event = 'SyncRep' AND application_name = 'alpha writer'`,
    );
    pid = Number(row?.["pid"] ?? 0);
    return pid !== 0;
  });
  return pid;
}

describe("a log with a synchronous standby", () => {
  const servers = startServers(true);
  const { primary, standby } = servers;

  beforeAll(async () => {
    // Until the standby is connected, the first change would wait.
    await waitUntil(async () => {
      const rows = await runSql(primary, "SELECT sync_state FROM pg_stat_replication");
      return rows.some((row) => row["sync_state"] === "sync");
    });
  });

  testLogContract("PostgreSQL with a synchronous standby", (end) => makeLog(servers, end));

  test("reports that no acknowledged line can be lost", async () => {
    const { alpha } = await makeLog(servers, BASE);
    expect(await alpha.readDatabase()).toMatchObject({ replication: "strict", problems: [] });
  });

  /** Appends a line while the standby is away, and does something to the process that waits. */
  async function appendWithoutStandby(
    disturb: (pid: number) => Promise<unknown>,
  ): Promise<{ readonly problem: string; readonly log: TestLog; readonly batch: LineBatch }> {
    const log = await makeLog(servers, BASE);
    const epoch = (await log.alpha.claimTerm(LONG))?.epoch ?? NaN;
    const first = batchAfter(BASE, "acknowledged");
    expect(await log.alpha.append(epoch, first)).toBe(true);
    standby.stopServer("fast");
    try {
      const batch = batchAfter(endOf(first), "unknown");
      const problem = problemOf(log.alpha.append(epoch, batch));
      await disturb(await findWaitingProcess(primary));
      return { problem: await problem, log, batch };
    } finally {
      standby.startServer();
    }
  }

  /** After an unknown outcome: the epoch is raised, and both hosts read the same lines. */
  async function expectAgreement({ alpha, beta }: TestLog, batch: LineBatch): Promise<void> {
    // The end of its other connections may still be unknown to this host.
    await waitUntil(() => alpha.claimTerm(LONG).then(Boolean, () => false));
    const leader = await alpha.readLeader();
    expect(leader.epoch).toBeGreaterThan(1);
    expect(await alpha.append(1, batch)).toBe(false);
    expect(await alpha.append(leader.epoch, batchAfter(leader, "next"))).toBe(true);
    const texts = await textsOf(alpha);
    expect(await textsOf(beta)).toEqual(texts);
    expect(texts[0]).toBe("acknowledged");
    expect(texts.at(-1)).toBe("next");
  }

  test("acknowledges no line whose wait for the standby was cancelled", async () => {
    const { problem, log, batch } = await appendWithoutStandby((pid) =>
      runSql(primary, `SELECT pg_cancel_backend(${pid})`),
    );
    expect(problem).toBe("the change did not reach the standby database");
    await expectAgreement(log, batch);
  });

  test("acknowledges no line whose process on the server was ended", async () => {
    const { problem, log, batch } = await appendWithoutStandby((pid) =>
      runSql(primary, `SELECT pg_terminate_backend(${pid})`),
    );
    expect(problem).not.toStartWith("no problem");
    await expectAgreement(log, batch);
  });

  test("acknowledges no line whose server was killed and started again", async () => {
    const { problem, log, batch } = await appendWithoutStandby(async () => {
      primary.stopServer("immediate");
      primary.startServer();
    });
    expect(problem).not.toStartWith("no problem");
    await expectAgreement(log, batch);
  });

  test("acknowledges no line within the deadline while the standby is away", async () => {
    const log = await makeLog(servers, BASE);
    const hasty = log.connect("alpha", 1_000);
    await waitUntil(() => hasty.claimTerm(LONG).then(Boolean, () => false));
    const { epoch } = await hasty.readLeader();
    standby.stopServer("fast");
    const startedAt = performance.now();
    const problem = await problemOf(hasty.append(epoch, batchAfter(BASE, "waits")));
    const duration = performance.now() - startedAt;
    standby.startServer();
    expect(problem).toBe("no answer within 1000 ms");
    expect(duration).toBeWithin(990, 10_000);
    // The line gets there later: a new epoch waits for it, and then it is there for good.
    await waitUntil(() => hasty.claimTerm(LONG).then(Boolean, () => false));
    expect(await textsOf(log.beta)).toEqual(["waits"]);
  });

  test("has few connections of a host that tries again while the standby is away", async () => {
    const log = await makeLog(servers, BASE);
    const hasty = log.connect("hasty", 500);
    await waitUntil(() => hasty.claimTerm(0).then(Boolean, () => false));
    standby.stopServer("fast");
    try {
      for (let attempt = 0; attempt < 6; attempt += 1) {
        const { term } = await log.beta.readLeader();
        await problemOf(hasty.claimTerm(0, term));
      }
      const countConnections = async (): Promise<number> => {
        const where = "WHERE application_name LIKE 'hasty%'";
        const [row] = await runSql(primary, `SELECT count(*) FROM pg_stat_activity ${where}`);
        return Number(row?.["count"]);
      };
      // One of them waits for the standby; those that wait for its lock end with their client.
      const isSmall = async (): Promise<boolean> => (await countConnections()) <= 2;
      await waitUntil(isSmall, "few connections", { patience: 20_000 });
    } finally {
      standby.startServer();
    }
  });

  test("lets no host lead with a line that the standby does not have", async () => {
    const log = await makeLog(servers, BASE);
    const { epoch = NaN } = (await log.alpha.claimTerm(0)) ?? {};
    standby.stopServer("fast");
    const lost = problemOf(log.alpha.append(epoch, batchAfter(BASE, "only here")));
    await findWaitingProcess(primary);
    // After this, the line can be read although the standby does not have it.
    primary.stopServer("immediate");
    primary.startServer();
    expect(await lost).not.toStartWith("no problem");
    const hasty = log.connect("beta", 1_500);
    await waitUntil(async () => (await textsOf(log.beta)).length === 1);
    expect(await problemOf(hasty.claimTerm(LONG))).toBe("no answer within 1500 ms");
    standby.startServer();
    await waitUntil(() => hasty.renew(epoch + 1, LONG).catch(() => false));
    expect(await hasty.readLeader()).toMatchObject({ holder: "beta", seq: 8 });
  });

  test("continues on the standby with all acknowledged lines after a failover", async () => {
    const log = await makeLog(servers, BASE);
    const { epoch = NaN } = (await log.alpha.claimTerm(0)) ?? {};
    let end = BASE;
    for (let count = 0; count < 50; count += 1) {
      const batch = batchAfter(end, `line ${count}`);
      expect(await log.alpha.append(epoch, batch)).toBe(true);
      end = endOf(batch);
    }
    primary.stopServer("immediate");
    standby.configure({ synchronous_standby_names: "" });
    standby.promote();
    await waitUntil(() => log.beta.claimTerm(LONG).then(Boolean, () => false));
    expect(await textsOf(log.beta)).toHaveLength(50);
    expect(await log.beta.readLeader()).toMatchObject({ ...end, epoch: epoch + 1 });
    expect(await log.alpha.append(epoch, batchAfter(end, "late"))).toBe(false);
    const { server } = await log.beta.readDatabase();
    expect(server).toBe(`127.0.0.1:${standby.port}`);
    // An old primary server that comes back is not used: a standby took its place.
    primary.startServer();
    const { server: again } = await log.connect("beta").readDatabase();
    expect(again).toBe(server);
    // Not even if the server that took its place is away.
    standby.stopServer("fast");
    const expected = `127.0.0.1:${primary.port}: another server took its place`;
    await waitUntil(async () => (await problemOf(log.beta.readDatabase())).includes(expected));
  });
});
