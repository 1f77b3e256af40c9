import type { LogFile } from "../shared-log.ts";
import type { LogConnection } from "./log-connection.ts";

const READ_VERSIONS = `SELECT name, version FROM berth.file`;

const READ = `SELECT version, content FROM berth.file WHERE name = $1`;

/** The lock keeps another host from leading before the write is committed. */
const WRITE = `
  WITH l AS (
    SELECT epoch FROM berth.leader WHERE epoch = $1::bigint AND holder = $2 FOR NO KEY UPDATE
  )
  INSERT INTO berth.file (name, version, content) SELECT $3, 1, $4::bytea FROM l
  ON CONFLICT (name) DO UPDATE SET version = file.version + 1, content = excluded.content
  RETURNING version`;

export async function readFileVersions(
  connection: LogConnection,
): Promise<ReadonlyMap<string, number>> {
  const rows = await connection.runStatement(READ_VERSIONS);
  return new Map(rows.map(({ name, version }) => [String(name), Number(version)]));
}

export async function readFile(connection: LogConnection, name: string): Promise<LogFile | null> {
  const [row] = await connection.runStatement(READ, [name]);
  if (!(row?.["content"] instanceof Uint8Array)) return null;
  return { version: Number(row["version"]), content: new Uint8Array(row["content"]) };
}

export async function writeFile(
  connection: LogConnection,
  { epoch, holder }: { readonly epoch: number; readonly holder: string },
  name: string,
  content: Uint8Array,
): Promise<number | null> {
  const [row] = await connection.runStatement(WRITE, [epoch, holder, name, content]);
  return row === undefined ? null : Number(row["version"]);
}
