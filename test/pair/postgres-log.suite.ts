import { afterAll, onTestFinished } from "bun:test";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { parseLogUrl, type LogUrl } from "../../src/store/log/postgres/log-url.ts";
import { PostgresLog } from "../../src/store/log/postgres/postgres-log.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import { testLogContract } from "../store/log/log-contract.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

const cluster = PostgresCluster.start();
afterAll(() => cluster.remove());

let count = 0;

testLogContract("PostgreSQL", async (end) => {
  count += 1;
  const id = `log${count}`;
  const root = { url: urlOf(cluster.url), password: null, name: "test", deadlineMs: 30_000 };
  const admin = new LogConnection(root);
  await admin.runScript(`CREATE DATABASE ${id}`);
  await admin.close();
  const url = urlOf(cluster.url.replace(/postgres$/, id));
  const creator = new LogConnection({ ...root, url });
  await createLog(creator, { id, appliance: "appliance", end });
  await creator.close();
  const connect = (host: string): PostgresLog => {
    const log = new PostgresLog(id, { ...root, url, host, clientUrl: null });
    onTestFinished(() => log.close());
    return log;
  };
  return { alpha: connect("alpha"), beta: connect("beta"), restartedAlpha: connect("alpha") };
});

function urlOf(text: string): LogUrl {
  const url = parseLogUrl(text);
  if ("message" in url) throw new Error(url.message);
  return url;
}
