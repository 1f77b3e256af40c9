import type postgres from "postgres";
import { messageOfError } from "../../../platform/error-message.ts";
import { LogRefused, LogUnavailable } from "../shared-log.ts";
import { chooseSession } from "./choose-session.ts";
import { openSession, type LogSession, type LogSessionOptions } from "./log-session.ts";

export interface LogConnectionOptions extends LogSessionOptions {
  /** How long a statement may take, with connecting if that is necessary. */
  readonly deadlineMs: number;
  /** What all connections of a log know of its servers; absent: this connection is alone. */
  readonly timelines?: KnownTimelines;
}

/** Servers of which another one took the place are not used again. */
interface KnownTimelines {
  newest: number;
}

type Parameter = string | number | Uint8Array | null;
/** A function: called when the statement is sent, once there is a connection. */
type Parameters = readonly Parameter[] | (() => readonly Parameter[]);
/** A large integer is a text. */
export type Row = Readonly<Record<string, string | number | boolean | Uint8Array | null>>;

export const toText = (value: Row[string] | undefined): string | null =>
  typeof value === "string" ? value : null;

interface OpeningSession {
  readonly session: Promise<LogSession>;
  readonly aborter: AbortController;
}

/**
 * One connection to the database, which is made again after each failure. A statement that does not
 * end in time is given up together with the connection: its outcome is then unknown.
 */
export class LogConnection {
  readonly #options: LogConnectionOptions;
  readonly #timelines: KnownTimelines;
  #opening: OpeningSession | null = null;

  constructor(options: LogConnectionOptions) {
    this.#options = options;
    this.#timelines = options.timelines ?? { newest: 0 };
  }

  /** Runs one statement, in a transaction of its own. Rejects with `LogUnavailable`. */
  runStatement(statement: string, parameters: Parameters = []): Promise<readonly Row[]> {
    return this.#run((sql) => {
      const values = typeof parameters === "function" ? parameters() : parameters;
      return sql.unsafe(statement, [...values] as never, { prepare: true });
    });
  }

  /** Runs several statements in one transaction. Rejects with `LogUnavailable`. */
  runScript(statements: string): Promise<readonly Row[]> {
    return this.#run((sql) => sql.unsafe(statements));
  }

  /** Gives up what is under way. */
  close(): void {
    if (this.#opening !== null) this.#closeOne(this.#opening);
  }

  /** Leaves a newer connection as it is. */
  #closeOne(opening: OpeningSession): void {
    if (this.#opening === opening) this.#opening = null;
    opening.aborter.abort();
    opening.session.then(
      (session) => session.close(),
      () => {},
    );
  }

  async #run(start: (sql: postgres.Sql) => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const { deadlineMs } = this.#options;
    const deadline = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => deadline.reject(new Error(`no answer within ${deadlineMs} ms`)),
      deadlineMs,
    );
    const opening = (this.#opening ??= this.#open());
    try {
      return await Promise.race([runReplicated(opening.session, start), deadline.promise]);
    } catch (error) {
      this.#closeOne(opening);
      const Failure = isRefusal(error) ? LogRefused : LogUnavailable;
      throw new Failure(messageOfError(error), { cause: error });
    } finally {
      clearTimeout(timer);
      // Of a statement that was given up.
      deadline.promise.catch(() => {});
    }
  }

  #open(): OpeningSession {
    const aborter = new AbortController();
    const attempts = this.#options.url.hosts.map((address) => ({
      address,
      session: openSession(this.#options, address, aborter.signal).then((session) =>
        refuseOldPrimary(session, this.#timelines),
      ),
    }));
    const opening = { session: chooseSession(attempts), aborter };
    void opening.session.then(
      async ({ closed, timeline }) => {
        this.#timelines.newest = Math.max(this.#timelines.newest, timeline);
        await closed;
        // The next statement connects again, and is not given to a connection that has ended.
        if (this.#opening === opening) this.#opening = null;
      },
      () => {},
    );
    return opening;
  }
}

/** The end of a connection, which PostgreSQL reports as FATAL, leaves the outcome unknown. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && "severity" in error && error.severity === "ERROR";

/** It may have been started again while its successor is away, and accept changes on its own. */
function refuseOldPrimary(session: LogSession, { newest }: KnownTimelines): LogSession {
  if (session.timeline >= newest) return session;
  session.close();
  throw new Error(
    `another server took its place (it has timeline ${session.timeline}, and ${newest} was used)`,
  );
}

/** Rejects if the change was made, but is not on the standby of the database. */
async function runReplicated(
  opening: Promise<LogSession>,
  start: (sql: postgres.Sql) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const { sql, unreplicatedCount } = await opening;
  const countBefore = unreplicatedCount();
  const rows = await start(sql);
  if (unreplicatedCount() > countBefore)
    throw new Error("the change did not reach the standby database");
  return rows;
}
