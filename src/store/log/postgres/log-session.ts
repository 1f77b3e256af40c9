import type postgres from "postgres";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { FolderRefused } from "../../folder/refusal.ts";
import type { LogUrl } from "./log-url.ts";
import { openSocket, type SocketAddress } from "./log-socket.ts";
import { guardPassword } from "./plain-password.ts";

export interface LogSessionOptions {
  readonly url: LogUrl;
  /** Read with each connection, so that it can be changed; null: the database needs none. */
  readonly readPassword: (address: SocketAddress) => string | null;
  /** What the database shows as the name of the connection. */
  readonly name: string;
  /** Whether the session keeps the server's defaults, only to read them. */
  readonly keepsDefaults?: boolean;
}

/** The settings on which the promises of the log depend, whatever the server's defaults are. */
const SETTINGS = {
  synchronous_commit: "on",
  default_transaction_isolation: "read committed",
  client_min_messages: "warning",
  search_path: "pg_catalog",
  // A host that is gone must not hold a lock of the leader's row: neither between two statements,
  // nor with an answer that does not arrive, nor with half a statement that was received.
  idle_in_transaction_session_timeout: "5s",
  tcp_user_timeout: "5000",
  // A statement that waits for a lock ends soon after its client: otherwise each attempt to lead
  // would leave a connection behind, until the server accepts no more.
  client_connection_check_interval: "2s",
  tcp_keepalives_idle: "2",
  tcp_keepalives_interval: "1",
  tcp_keepalives_count: "3",
} as const;

/** A pooler between this host and the database may ignore them. */
const NEEDED = Object.keys(SETTINGS) as readonly (keyof typeof SETTINGS)[];

const READ_SESSION = `
  SELECT pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') AS read_only,
    CASE WHEN pg_is_in_recovery() THEN ''
      ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline,
    ${NEEDED.map((name) => `current_setting('${name}') AS ${name}`).join(", ")}`;

/**
 * The function of PostgreSQL that warns when a change was not waited for. The text of the warning
 * depends on the language of the server.
 */
const WAIT_FOR_STANDBY = "SyncRepWaitForLSN";

/** One connection to one server of the database, which accepts changes. */
export interface LogSession {
  readonly sql: postgres.Sql;
  /** Raised by PostgreSQL whenever a standby becomes the primary server. */
  readonly timeline: number;
  /** How often a statement was answered before its change reached the standby of the database. */
  readonly unreplicatedCount: () => number;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly close: () => void;
}

/** Connects to a server. Rejects if it does not accept changes, or if the signal aborts. */
export async function openSession(
  options: LogSessionOptions,
  address: SocketAddress,
  signal: AbortSignal,
): Promise<LogSession> {
  const { url, readPassword, name, keepsDefaults = false } = options;
  // Only a host of a pair needs it.
  const { default: connect } = await import("postgres");
  const certificate = url.sslrootcert === null ? null : readFileSync(url.sslrootcert, "utf8");
  const password = readPassword(address) ?? "";
  const socket = await openSocket(address, { mode: url.sslmode, certificate }, signal);
  const guard = url.sslmode === "verify-full" ? null : guardPassword(socket, password);
  // The driver listens to it only later.
  const lost = Promise.withResolvers<never>();
  socket.once("close", () => lost.reject(new Error("the database closed the connection")));
  lost.promise.catch(() => {});
  let isTaken = false;
  // A session ends with its connection: the next one is checked again.
  const takeSocket = async (): Promise<Socket> => {
    if (isTaken) throw new Error("the database closed the connection");
    isTaken = true;
    return socket;
  };
  const close = (): void => {
    void sql.end({ timeout: 0 }).catch(() => {});
    socket.destroy();
  };
  let unreplicated = 0;
  const closed = Promise.withResolvers<void>();
  const sql = connect({
    host: address.host,
    port: address.port,
    // Its types leave this out.
    ...({ socket: takeSocket, sslnegotiation: null, max_pipeline: 100 } as object),
    database: url.database,
    user: url.user,
    // A function, since variables of the environment replace an empty text.
    password: guard?.read ?? (() => password),
    ssl: false,
    max: 1,
    prepare: true,
    debug: false,
    keep_alive: 5,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 0,
    fetch_types: false,
    backoff: false,
    onclose: () => closed.resolve(),
    onnotice: ({ routine }) => {
      if (routine === WAIT_FOR_STANDBY) unreplicated += 1;
    },
    connection: { ...(keepsDefaults ? {} : SETTINGS), application_name: name } as object,
  });
  signal.addEventListener("abort", close);
  try {
    const reading = sql.unsafe<Record<string, unknown>[]>(READ_SESSION);
    const [row = {}] = await Promise.race([
      ...(guard ? [guard.refused] : []),
      reading,
      lost.promise,
    ]);
    if (row["is_standby"] === true) throw new Error("the server is a standby");
    if (!keepsDefaults) refuseSettings(row, url);
    return {
      sql,
      timeline: Number.parseInt(String(row["timeline"]), 16),
      unreplicatedCount: () => unreplicated,
      closed: closed.promise,
      close,
    };
  } catch (error) {
    close();
    throw findSetupError(error, url) ?? error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

function refuseSettings(row: Readonly<Record<string, unknown>>, { user, database }: LogUrl): void {
  if (row["read_only"] !== "off") {
    throw new FolderRefused(
      `the role ${user} may only read: its transactions are read-only`,
      `ALTER ROLE ${user} RESET default_transaction_read_only; the same for the database ${database}`,
    );
  }
  const ignored = NEEDED.find((setting) => row[setting] !== SETTINGS[setting]);
  if (ignored === undefined) return;
  throw new FolderRefused(
    `the connection has ${ignored} = ${String(row[ignored])}, and needs ${SETTINGS[ignored]}`,
    "connect to PostgreSQL itself, on Linux: a pooler does not pass this on",
  );
}

/** What PostgreSQL refuses until the operator changes something; null: it may pass by itself. */
function findSetupError(error: unknown, { user, database }: LogUrl): FolderRefused | null {
  if (!(error instanceof Error && "code" in error)) return null;
  if (error.code === "28P01" || error.code === "28000") {
    return new FolderRefused(
      error.message,
      `check the password of ${user} (--pair-log-password-file), and pg_hba.conf of the server`,
    );
  }
  if (error.code !== "3D000") return null;
  return new FolderRefused(
    error.message,
    `create it: createdb --owner=${user} --encoding=UTF8 --template=template0 ${database}`,
  );
}
