import { randomId } from "../../../platform/crypto/random.ts";
import { FolderRefused } from "../../folder/refusal.ts";
import type { LogFolder } from "../../store-options.ts";
import { LogUnavailable, type DatabaseReport } from "../shared-log.ts";
import { readDatabaseReport } from "./database-report.ts";
import { LogConnection, type Row } from "./log-connection.ts";
import type { LogUrl } from "./log-url.ts";
import { PostgresLog, type PostgresLogOptions } from "./postgres-log.ts";
import { createLog, LOG_FORMAT } from "./schema.ts";

const MIN_VERSION = 150_000;

const READ_SERVER = `
  SELECT current_setting('server_version_num')::int AS version,
    current_user AS role, current_database() AS database,
    current_setting('server_version') AS version_text,
    current_setting('server_encoding') AS encoding,
    current_setting('fsync') AS fsync,
    current_setting('transaction_read_only') AS read_only,
    to_regnamespace('berth') IS NOT NULL AS has_schema,
    to_regclass('berth.log') IS NOT NULL AS has_log,
    has_database_privilege(current_database(), 'CREATE') AS can_create`;

const READ_LOG = `SELECT format, id, appliance FROM berth.log`;

const READ_PRIVILEGES = `
  SELECT bool_and(has_table_privilege(format('berth.%I', t), p)) AS can_write
  FROM unnest(ARRAY['journal', 'leader', 'host', 'file']) AS t,
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p`;

/**
 * Connects to the database of a pair, and creates the log if the database has none and the folder
 * was never in a pair. Throws a `FolderRefused` that says what is wrong with the set-up, or
 * `LogUnavailable` if the database may answer later.
 */
export const openPostgresLog = (
  options: PostgresLogOptions,
  folder: LogFolder,
): Promise<PostgresLog> =>
  withConnection(options, async (connection) => {
    const found = await findLog(connection, folder);
    return new PostgresLog(found ?? (await makeLog(connection, folder)), options);
  });

/**
 * Checks the set-up as a start does, and creates nothing. `appliance` is that of the folder; null:
 * it is not known. Throws as `openPostgresLog`.
 */
export const checkPostgresLog = (
  options: PostgresLogOptions,
  appliance: string | null,
): Promise<DatabaseReport> =>
  withConnection(options, async (connection) => {
    await findLog(connection, { appliance, pair: null });
    return readDatabaseReport(connection);
  });

async function withConnection<T>(
  options: PostgresLogOptions,
  work: (connection: LogConnection) => Promise<T>,
): Promise<T> {
  const connection = new LogConnection(options);
  const defaults = new LogConnection({ ...options, keepsDefaults: true });
  try {
    await refuseDefaults(defaults);
    return await work(connection);
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    if (isPermissionDenied(error.cause)) throw readOnly(options.url);
    const message = `the database of the pair cannot be used: ${error.message}`;
    throw error.cause instanceof FolderRefused
      ? new FolderRefused(message, error.cause.hint)
      : new LogUnavailable(message, { cause: error.cause });
  } finally {
    connection.close();
    defaults.close();
  }
}

const isPermissionDenied = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "42501";

/** Each session of the log sets it, but a server with this default was not made to keep changes. */
async function refuseDefaults(connection: LogConnection): Promise<void> {
  const [{ value } = {}] = await connection.runStatement(
    "SELECT current_setting('synchronous_commit') AS value",
  );
  if (value !== "off") return;
  throw new FolderRefused(
    "the database runs with synchronous_commit=off: a crash would lose what was acknowledged",
    "set synchronous_commit = on in postgresql.conf, or for the role: ALTER ROLE NAME SET synchronous_commit = on",
  );
}

async function makeLog(connection: LogConnection, { appliance, end }: LogFolder): Promise<string> {
  const id = randomId();
  await createLog(connection, { id, appliance, end });
  return id;
}

interface KnownFolder extends Pick<LogFolder, "pair"> {
  readonly appliance: string | null;
}

/** Returns the id of the log; null: there is none, and it can be created. */
async function findLog(connection: LogConnection, folder: KnownFolder): Promise<string | null> {
  const [server = {}] = await connection.runStatement(READ_SERVER);
  refuseServer(server);
  if (server["has_log"] !== true) {
    refuseCreation(server, folder);
    return null;
  }
  const [{ format, id, appliance } = {}] = await connection.runStatement(READ_LOG);
  refuseFormat(Number(format));
  if (folder.appliance !== null && appliance !== folder.appliance) {
    throw new FolderRefused(
      `the database has the log of appliance ${String(appliance)}, and this folder is of ${folder.appliance}`,
      "to let this host join that appliance: berth help guide pair; for a pair of its own, use an empty database",
    );
  }
  if (folder.pair !== null && folder.pair.log !== id) {
    throw new FolderRefused(
      `this folder belongs to log ${folder.pair.log}, and the database has log ${String(id)}`,
      "use the database of that log; berth help guide pair says how to continue without it",
    );
  }
  const [{ can_write: canWrite } = {}] = await connection.runStatement(READ_PRIVILEGES);
  if (canWrite !== true) throw readOnly(readNames(server));
  return String(id);
}

function refuseFormat(format: number): void {
  if (format > LOG_FORMAT) {
    throw new FolderRefused(
      `a newer version of berth made the log (format ${format})`,
      "start that version on this host too",
    );
  }
  if (format < LOG_FORMAT) {
    throw new FolderRefused(
      `the log of the pair has format ${format} of Berth 0.2.0 or older; this version of berth reads format ${LOG_FORMAT}`,
      "keep that version for this pair, or begin a new one with a new folder and an empty database",
    );
  }
}

export function refuseServer(server: Row): void {
  if (Number(server["version"]) < MIN_VERSION) {
    throw new FolderRefused(
      `the database is PostgreSQL ${String(server["version_text"])}`,
      "PostgreSQL 15 or newer is required",
    );
  }
  if (server["encoding"] !== "UTF8") {
    throw new FolderRefused(
      `the database has the encoding ${String(server["encoding"])}`,
      "create it with: createdb --encoding=UTF8 --template=template0 NAME",
    );
  }
  if (server["fsync"] !== "on") {
    throw new FolderRefused(
      "the database runs with fsync=off: a power cut would lose what was acknowledged",
      "set fsync = on in postgresql.conf, and restart PostgreSQL",
    );
  }
  if (server["read_only"] === "on") throw readOnly(readNames(server));
}

function refuseCreation(server: Row, { pair }: Pick<LogFolder, "pair">): void {
  if (server["has_schema"] === true) {
    throw new FolderRefused(
      "the database has a schema berth that is not a log",
      "use an empty database",
    );
  }
  if (pair !== null) {
    throw new FolderRefused(
      `this folder belongs to log ${pair.log}, and the database is empty`,
      "use the database of that log; berth help guide pair says how to continue without it",
    );
  }
  if (server["can_create"] !== true) throw readOnly(readNames(server));
}

type Names = Pick<LogUrl, "user" | "database">;

const readNames = ({ role, database }: Row): Names => ({
  user: String(role),
  database: String(database),
});

const readOnly = ({ user, database }: Names): FolderRefused =>
  new FolderRefused(
    `the role ${user} may not write to the database ${database}`,
    `make it the owner of the database: ALTER DATABASE ${database} OWNER TO ${user}`,
  );
