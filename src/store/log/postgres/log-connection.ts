import type postgres from "postgres";
import { readFileSync } from "node:fs";
import { messageOfError } from "../../../platform/error-message.ts";
import { LogUnavailable } from "../shared-log.ts";
import type { LogUrl } from "./log-url.ts";

export interface LogConnectionOptions {
  readonly url: LogUrl;
  /** Null: the database asks for none. */
  readonly password: string | null;
  /** What the database shows as the name of the connection. */
  readonly name: string;
  /** How long a statement may take, and how long connecting may take. */
  readonly deadlineMs: number;
}

type Parameter = string | number | Uint8Array | null;
/** A large integer is a text. */
export type Row = Readonly<Record<string, string | number | boolean | Uint8Array | null>>;

/** The settings on which the promises of the log depend, whatever the server's defaults are. */
const SESSION = {
  synchronous_commit: "on",
  default_transaction_isolation: "read committed",
  client_min_messages: "warning",
  search_path: "pg_catalog",
  // A host that is gone must not hold a lock of the leader's row.
  idle_in_transaction_session_timeout: 5_000,
  tcp_user_timeout: 5_000,
} as const;

/**
 * The function of PostgreSQL that warns when a change was not waited for. The text of the warning
 * depends on the language of the server.
 */
const WAIT_FOR_STANDBY = "SyncRepWaitForLSN";

export const toText = (value: Row[string] | undefined): string | null =>
  typeof value === "string" ? value : null;

/**
 * One connection to the database, which is made again after each failure. A statement that does not
 * end in time is given up together with the connection: its outcome is then unknown.
 */
export class LogConnection {
  readonly #options: LogConnectionOptions;
  #sql: Promise<postgres.Sql> | null = null;
  /** How often a statement was answered before its change reached the standby of the database. */
  #unreplicatedCount = 0;

  constructor(options: LogConnectionOptions) {
    this.#options = options;
  }

  /** Runs one statement, in a transaction of its own. Rejects with `LogUnavailable`. */
  run(statement: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> {
    return this.#run((sql) => sql.unsafe(statement, [...parameters] as never, { prepare: true }));
  }

  /** Runs several statements in one transaction. Rejects with `LogUnavailable`. */
  runScript(statements: string): Promise<readonly Row[]> {
    return this.#run((sql) => sql.unsafe(statements));
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    if (this.#sql !== null) await this.#closeOne(this.#sql);
  }

  /** Leaves a newer connection as it is. */
  async #closeOne(connecting: Promise<postgres.Sql>): Promise<void> {
    if (this.#sql === connecting) this.#sql = null;
    const sql = await connecting.catch(() => null);
    await sql?.end({ timeout: 0 }).catch(() => {});
  }

  async #run(start: (sql: postgres.Sql) => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const { deadlineMs } = this.#options;
    const deadline = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => deadline.reject(new Error(`no answer within ${deadlineMs} ms`)),
      deadlineMs,
    );
    const connecting = (this.#sql ??= this.#connect());
    const unreplicatedBefore = this.#unreplicatedCount;
    try {
      const rows = await Promise.race([connecting.then(start), deadline.promise]);
      if (this.#unreplicatedCount > unreplicatedBefore)
        throw new Error("the change did not reach the standby database");
      return rows;
    } catch (error) {
      void this.#closeOne(connecting);
      throw new LogUnavailable(messageOfError(error), { cause: error });
    } finally {
      clearTimeout(timer);
      // Of a statement that was given up.
      deadline.promise.catch(() => {});
    }
  }

  async #connect(): Promise<postgres.Sql> {
    const { url, password, name, deadlineMs } = this.#options;
    // Only a host of a pair needs it.
    const { default: connect } = await import("postgres");
    // Its types leave out lists, which it accepts.
    const addresses: { readonly host: never; readonly port: never } = {
      host: url.hosts.map(({ host }) => host) as never,
      port: url.hosts.map(({ port }) => port) as never,
    };
    return connect({
      ...addresses,
      database: url.database,
      user: url.user,
      ...(password !== null && { password }),
      ssl: makeTlsOptions(url),
      // Of several hosts, the one that accepts writes.
      target_session_attrs: "read-write",
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: Math.max(1, deadlineMs / 1_000),
      fetch_types: false,
      backoff: false,
      onnotice: ({ routine }) => {
        if (routine === WAIT_FOR_STANDBY) this.#unreplicatedCount += 1;
      },
      connection: { ...SESSION, application_name: name },
    });
  }
}

function makeTlsOptions({ sslmode, sslrootcert }: LogUrl): boolean | "require" | object {
  if (sslmode !== "verify-full") return sslmode === "require" ? "require" : false;
  return sslrootcert === null
    ? { rejectUnauthorized: true }
    : { rejectUnauthorized: true, ca: readFileSync(sslrootcert, "utf8") };
}
