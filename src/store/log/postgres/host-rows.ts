import type { HostReport, HostRow } from "../shared-log.ts";
import { toClientUrl } from "./client-url.ts";
import type { LogConnection } from "./log-connection.ts";

const REPORT = `
  INSERT INTO berth.host (name, hardware_id, url, version, head, sum, covered, clock_ms, seen)
  VALUES ($1, $2, $3, $4, $5::bigint, $6, $7::bigint, $8::bigint, clock_timestamp())
  ON CONFLICT (name) DO UPDATE
  SET (hardware_id, url, version, head, sum, covered, clock_ms, seen) =
    (excluded.hardware_id, excluded.url, excluded.version, excluded.head, excluded.sum,
      excluded.covered, excluded.clock_ms, excluded.seen)`;

const READ = `
  SELECT name, hardware_id, url, version, head, sum, covered, clock_ms,
    greatest(0, extract(epoch FROM clock_timestamp() - seen) * 1000)::float8 AS age,
    (clock_ms - extract(epoch FROM seen) * 1000)::float8 AS ahead
  FROM berth.host ORDER BY name COLLATE "C"`;

const REMOVE = `DELETE FROM berth.host WHERE name = $1`;

export async function reportHost(
  connection: Pick<LogConnection, "runStatement">,
  { host, hardwareId, url, version, head, covered, systemTime }: HostReport,
): Promise<void> {
  const calledAt = performance.now();
  await connection.runStatement(REPORT, () => {
    // It is compared with the clock of the database: connecting may have taken seconds.
    const clock = Math.round(systemTime + performance.now() - calledAt);
    return [host, hardwareId, url, version, head.seq, head.sum, covered, clock];
  });
}

export async function readHosts(connection: LogConnection): Promise<readonly HostRow[]> {
  const rows = await connection.runStatement(READ);
  return rows.map((row) => ({
    host: String(row["name"]),
    hardwareId: String(row["hardware_id"]),
    url: toClientUrl(row["url"]),
    version: String(row["version"]),
    head: { seq: Number(row["head"]), sum: String(row["sum"]) },
    covered: Number(row["covered"]),
    systemTime: Number(row["clock_ms"]),
    ageMs: Number(row["age"]),
    clockAheadMs: Math.round(Number(row["ahead"])),
  }));
}

export async function removeHost(connection: LogConnection, host: string): Promise<void> {
  await connection.runStatement(REMOVE, [host]);
}
