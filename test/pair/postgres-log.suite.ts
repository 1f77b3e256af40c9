import { expect, onTestFinished, test } from "bun:test";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { PostgresLog } from "../../src/store/log/postgres/postgres-log.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import type { LogEnd } from "../../src/store/log/shared-log.ts";
import { testLogContract } from "../store/log/log-contract.ts";
import { atEnd } from "../support/suite-harness.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, PATIENT, runSql } from "./test-databases.ts";

const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());

async function makeLog(end: LogEnd) {
  const { name: id, url } = await createDatabase(cluster);
  const creator = new LogConnection({ ...PATIENT, url });
  await createLog(creator, { id, appliance: "appliance", end });
  creator.close();
  const connect = (host: string): PostgresLog => {
    const log = new PostgresLog(id, { ...PATIENT, url, host, clientUrl: null });
    onTestFinished(() => log.close());
    return log;
  };
  return { id, alpha: connect("alpha"), beta: connect("beta"), restartedAlpha: connect("alpha") };
}

testLogContract("PostgreSQL", makeLog);

test("PostgreSQL does not renew the term of a leader whose lines it lost", async () => {
  const { id, alpha } = await makeLog({ seq: 7, sum: "base" });
  const { epoch = NaN } = (await alpha.claimTerm(10_000)) ?? {};
  const batch = { firstSeq: 8, lastSeq: 8, prev: "base", sum: "sum", texts: ["a\n"] };
  expect(await alpha.append(epoch, batch)).toBe(true);
  expect(await alpha.renew(epoch, 10_000)).toBe(true);
  // As a standby database that did not have the line, and was promoted.
  const lose = "DELETE FROM berth.journal; UPDATE berth.leader SET head = 7, sum = 'base'";
  await runSql(cluster, lose, id);
  expect(await alpha.renew(epoch, 10_000)).toBe(false);
});
