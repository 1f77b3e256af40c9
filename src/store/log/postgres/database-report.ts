import type { DatabaseReport } from "../shared-log.ts";
import type { LogConnection, Row } from "./log-connection.ts";

/** A role without special rights sees that a standby is connected, but not its state. */
const READ_DATABASE = `
  SELECT current_setting('server_version') AS version,
    host(inet_server_addr()) AS address,
    inet_server_port() AS port,
    current_setting('synchronous_standby_names') AS standby_names,
    EXISTS (SELECT FROM pg_catalog.pg_stat_replication) AS has_standby,
    inet_client_addr() <> inet_server_addr() AS is_remote,
    EXISTS (
      SELECT FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl
    ) AS is_encrypted`;

/** `*` in a list counts each receiver of changes as a standby. */
const ANY_STANDBY = /(?:^|[\s,(])"?\*"?(?:$|[\s,)])/;

export async function readDatabaseReport(connection: LogConnection): Promise<DatabaseReport> {
  const [row = {}] = await connection.runStatement(READ_DATABASE);
  const { replication, problems } = judgeReplication(
    String(row["standby_names"]),
    row["has_standby"] === true,
  );
  const isReadable = row["is_remote"] === true && row["is_encrypted"] !== true;
  return {
    version: String(row["version"]),
    server: `${formatAddress(row["address"])}:${String(row["port"])}`,
    replication,
    lacksStandby: replication !== "none" && row["has_standby"] !== true,
    problems: isReadable ? [...problems, "unencrypted"] : problems,
  };
}

/** What the setting synchronous_standby_names promises. */
function judgeReplication(
  standbyNames: string,
  hasStandby: boolean,
): Pick<DatabaseReport, "replication" | "problems"> {
  if (standbyNames.trim() === "")
    return { replication: "none", problems: [hasStandby ? "asynchronous" : "not_replicated"] };
  return ANY_STANDBY.test(standbyNames)
    ? { replication: "loose", problems: ["any_standby"] }
    : { replication: "strict", problems: [] };
}

const formatAddress = (address: Row[string] | undefined): string =>
  String(address).includes(":") ? `[${String(address)}]` : String(address);
