import { onTestFinished } from "bun:test";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { PostgresLog } from "../../src/store/log/postgres/postgres-log.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import { testLogContract } from "../store/log/log-contract.ts";
import { atEnd } from "../support/suite-harness.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, PATIENT } from "./test-databases.ts";

const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());

testLogContract("PostgreSQL", async (end) => {
  const { name: id, url } = await createDatabase(cluster);
  const creator = new LogConnection({ ...PATIENT, url });
  await createLog(creator, { id, appliance: "appliance", end });
  creator.close();
  const connect = (host: string): PostgresLog => {
    const log = new PostgresLog(id, { ...PATIENT, url, host, clientUrl: null });
    onTestFinished(() => log.close());
    return log;
  };
  return { alpha: connect("alpha"), beta: connect("beta"), restartedAlpha: connect("alpha") };
});
