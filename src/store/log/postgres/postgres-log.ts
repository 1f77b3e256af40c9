import type { LineBatch } from "../../journal/batch-writer.ts";
import type { HostLog, LogLeader, LogLine } from "../shared-log.ts";
import { LogConnection, type LogConnectionOptions, type Row } from "./log-connection.ts";

const APPEND = `
  WITH l AS (
    UPDATE berth.leader SET head = $1::bigint, sum = $2
    WHERE epoch = $3::bigint AND holder = $4 AND head = $5::bigint - 1 AND sum = $6
    RETURNING epoch
  )
  INSERT INTO berth.journal (seq, epoch, line)
  SELECT $5::bigint + t.n - 1, l.epoch, t.line
  FROM l, string_to_table($7::text, E'\\n') WITH ORDINALITY AS t(line, n)
  RETURNING seq`;

const READ_LINES = `
  SELECT seq, epoch, line FROM berth.journal WHERE seq > $1::bigint ORDER BY seq LIMIT $2::int`;

const LEADER_COLUMNS = `
  epoch, holder, url, head, sum,
  CASE WHEN heir_until > clock_timestamp() THEN heir END AS heir,
  greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000)::float8 AS remaining`;

const READ_LEADER = `SELECT ${LEADER_COLUMNS} FROM berth.leader`;

const CLAIM = `
  UPDATE berth.leader
  SET epoch = epoch + 1, holder = $1, url = $2, heir = NULL, heir_until = NULL,
    until = clock_timestamp() + $3::float8 * interval '1 millisecond'
  WHERE holder = $1 OR (
    until < clock_timestamp() AND (heir = $1 OR heir IS NULL OR heir_until < clock_timestamp())
  )
  RETURNING ${LEADER_COLUMNS}`;

const RENEW = `
  UPDATE berth.leader SET until = clock_timestamp() + $3::float8 * interval '1 millisecond'
  WHERE epoch = $1::bigint AND holder = $2
  RETURNING epoch`;

const RELEASE = `
  UPDATE berth.leader
  SET until = clock_timestamp(), holder = NULL, url = NULL, heir = $3,
    heir_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
  WHERE epoch = $1::bigint AND holder = $2
  RETURNING epoch`;

export interface PostgresLogOptions extends LogConnectionOptions {
  /** This host. */
  readonly host: string;
  /** Where clients reach it; null: not known. */
  readonly clientUrl: string | null;
}

/**
 * The log of a pair in PostgreSQL. A write names the epoch, the host and the end of the log it
 * continues, so that a host whose time is over changes nothing, however late its statement arrives.
 */
export class PostgresLog implements HostLog {
  readonly id: string;
  readonly #options: PostgresLogOptions;
  /** Appends; a slow one must not delay the renewal of the term. */
  readonly #writer: LogConnection;
  readonly #reader: LogConnection;

  constructor(id: string, options: PostgresLogOptions) {
    this.id = id;
    this.#options = options;
    this.#writer = new LogConnection({ ...options, name: `${options.name} writer` });
    this.#reader = new LogConnection(options);
  }

  async append(
    epoch: number,
    { firstSeq, lastSeq, prev, sum, texts }: LineBatch,
  ): Promise<boolean> {
    const { host } = this.#options;
    // A line contains no line feed but its last character, which the table does not have.
    const lines = texts.join("").slice(0, -1);
    const rows = await this.#writer.run(APPEND, [lastSeq, sum, epoch, host, firstSeq, prev, lines]);
    return rows.length === texts.length;
  }

  async readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    const rows = await this.#reader.run(READ_LINES, [after, limit]);
    return rows.map(({ seq, epoch, line }) => ({
      seq: Number(seq),
      epoch: Number(epoch),
      text: `${String(line)}\n`,
    }));
  }

  async readLeader(): Promise<LogLeader> {
    const [row] = await this.#reader.run(READ_LEADER);
    return toLeader(row);
  }

  /** Makes this host the leader if no other one's term lasts; null: another host leads. */
  async claim(termMs: number): Promise<LogLeader | null> {
    const { host, clientUrl } = this.#options;
    const [row] = await this.#reader.run(CLAIM, [host, clientUrl, termMs]);
    return row === undefined ? null : toLeader(row);
  }

  /** Extends the term of this host; false: another host leads. */
  async renew(epoch: number, termMs: number): Promise<boolean> {
    const { host } = this.#options;
    return (await this.#reader.run(RENEW, [epoch, host, termMs])).length > 0;
  }

  /** Ends the term of this host; for a while only `heir` may lead next. */
  async release(epoch: number, heir: string | null, heirMs: number): Promise<void> {
    const { host } = this.#options;
    await this.#reader.run(RELEASE, [epoch, host, heir, heirMs]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#reader.close()]);
  }
}

function toLeader(row: Row | undefined): LogLeader {
  if (row === undefined) throw new Error("the log has no row for its leader");
  const { epoch, holder, url, head, sum, heir, remaining } = row;
  return {
    epoch: Number(epoch),
    holder: toText(holder),
    url: toText(url),
    seq: Number(head),
    sum: String(sum),
    heir: toText(heir),
    remainingMs: Number(remaining),
  };
}

const toText = (value: Row[string] | undefined): string | null =>
  value === null ? null : String(value);
