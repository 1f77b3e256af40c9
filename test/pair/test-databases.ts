// Databases in a PostgreSQL server of a test, and statements in them.
import { LogConnection, type Row } from "../../src/store/log/postgres/log-connection.ts";
import { parseLogUrl, type LogUrl } from "../../src/store/log/postgres/log-url.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";

/** Statements of the tests themselves must not end by a time limit. */
export const PATIENT = { readPassword: () => null, name: "test", deadlineMs: 30_000 } as const;

export function logUrlOf(text: string): LogUrl {
  const url = parseLogUrl(text);
  if ("message" in url) throw new Error(url.message);
  return url;
}

/** Runs statements as the owner of the server. */
export async function runSql(
  { url }: Pick<PostgresCluster, "url">,
  statements: string,
  database = "postgres",
): Promise<readonly Row[]> {
  const connection = new LogConnection({ ...PATIENT, url: urlOfDatabase(url, database) });
  try {
    return await connection.runScript(statements);
  } finally {
    connection.close();
  }
}

const urlOfDatabase = (url: string, database: string): LogUrl =>
  logUrlOf(url.replace(/postgres$/, database));

let count = 0;

/** Creates an empty database. */
export async function createDatabase(
  cluster: Pick<PostgresCluster, "url">,
  options = "",
): Promise<{ readonly name: string; readonly url: LogUrl }> {
  count += 1;
  const name = `database${count}`;
  await runSql(cluster, `CREATE DATABASE ${name} ${options}`);
  return { name, url: urlOfDatabase(cluster.url, name) };
}
