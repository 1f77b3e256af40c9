import { randomId } from "../../../platform/crypto/random.ts";
import type { LineBatch } from "../../journal/batch-writer.ts";
import type {
  DatabaseReport,
  HostLog,
  HostReport,
  HostRow,
  LogFile,
  LogLeader,
  LogLine,
} from "../shared-log.ts";
import { toClientUrl } from "./client-url.ts";
import { readDatabaseReport } from "./database-report.ts";
import { readHosts, removeHost, reportHost } from "./host-rows.ts";
import { LogConnection, toText, type LogConnectionOptions, type Row } from "./log-connection.ts";

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
  epoch, holder, instance, url, head, sum, extract(epoch FROM until)::text AS term, term_ms,
  CASE WHEN successor_until > clock_timestamp() THEN successor END AS successor,
  greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000)::float8 AS remaining`;

const READ_LEADER = `SELECT ${LEADER_COLUMNS} FROM berth.leader`;

const CLAIM = `
  UPDATE berth.leader
  SET epoch = epoch + 1, holder = $1, instance = $4, url = $2,
    successor = NULL, successor_until = NULL,
    until = clock_timestamp() + $3::float8 * interval '1 millisecond', term_ms = $3::float8
  WHERE (successor = $1 OR successor IS NULL OR successor_until < clock_timestamp()) AND (
    extract(epoch FROM until) = $5::numeric
    OR ($5::numeric IS NULL AND (until < clock_timestamp() OR (holder = $1 AND instance = $4)))
  )
  RETURNING ${LEADER_COLUMNS}`;

/** A standby database that was promoted may have the leader, but not all of its lines. */
const RENEW = `
  UPDATE berth.leader
  SET until = clock_timestamp() + $3::float8 * interval '1 millisecond', term_ms = $3::float8
  WHERE epoch = $1::bigint AND holder = $2 AND head >= $4::bigint
  RETURNING epoch`;

const RELEASE = `
  UPDATE berth.leader
  SET until = clock_timestamp(), holder = NULL, instance = NULL, url = NULL, successor = $3,
    successor_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
  WHERE epoch = $1::bigint AND holder = $2
  RETURNING epoch`;

/** After the clock of the database was set back, an older line may seem to be younger. */
const TRIM = `
  WITH oldest AS (
    SELECT seq, added FROM berth.journal WHERE seq <= $1::bigint ORDER BY seq LIMIT $3::int
  ), kept AS (
    SELECT min(seq) AS seq FROM oldest
    WHERE added > clock_timestamp() - $2::float8 * interval '1 millisecond'
  ), removed AS (
    DELETE FROM berth.journal
    WHERE seq IN (SELECT o.seq FROM oldest o, kept k WHERE k.seq IS NULL OR o.seq < k.seq)
    RETURNING 1
  )
  SELECT count(*)::int AS count FROM removed`;

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
  /** For what may take a while. */
  readonly #background: LogConnection;
  /** Tells this process from an earlier one of the same host, which may still have statements. */
  readonly #instance = randomId();
  readonly #timelines = { newest: 0 };
  /** The last line that this process appended. */
  #lastAppended = 0;
  /** Whether another host led when that was read last. */
  #isLedByOther = false;

  constructor(id: string, givenOptions: PostgresLogOptions) {
    const options = { ...givenOptions, timelines: this.#timelines };
    this.id = id;
    this.#options = options;
    this.#writer = new LogConnection({ ...options, name: `${options.name} writer` });
    this.#reader = new LogConnection(options);
    this.#background = new LogConnection({ ...options, name: `${options.name} background` });
  }

  async append(
    epoch: number,
    { firstSeq, lastSeq, prev, sum, texts }: LineBatch,
  ): Promise<boolean> {
    const { host } = this.#options;
    // A line contains no line feed but its last character, which the table does not have.
    const lines = texts.join("").slice(0, -1);
    const rows = await this.#writer.runStatement(APPEND, [
      lastSeq,
      sum,
      epoch,
      host,
      firstSeq,
      prev,
      lines,
    ]);
    if (rows.length !== texts.length) return false;
    this.#lastAppended = lastSeq;
    return true;
  }

  async readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    const rows = await this.#reader.runStatement(READ_LINES, [after, limit]);
    return rows.map(({ seq, epoch, line }) => ({
      seq: Number(seq),
      epoch: Number(epoch),
      text: `${String(line)}\n`,
    }));
  }

  async readLeader(): Promise<LogLeader> {
    const [row] = await this.#reader.runStatement(READ_LEADER);
    const leader = this.#toLeader(row);
    this.#isLedByOther = leader.remainingMs > 0 && !leader.isOwn;
    return leader;
  }

  async claimTerm(termMs: number, endedTerm?: string): Promise<LogLeader | null> {
    const { host, clientUrl } = this.#options;
    const parameters = [host, clientUrl, termMs, this.#instance, endedTerm ?? null];
    const [row] = await this.#reader.runStatement(CLAIM, parameters);
    return row === undefined ? null : this.#toLeader(row);
  }

  async renew(epoch: number, termMs: number): Promise<boolean> {
    const { host } = this.#options;
    const rows = await this.#reader.runStatement(RENEW, [epoch, host, termMs, this.#lastAppended]);
    return rows.length > 0;
  }

  async release(epoch: number, successor: string | null, successorMs: number): Promise<void> {
    const { host } = this.#options;
    await this.#reader.runStatement(RELEASE, [epoch, host, successor, successorMs]);
  }

  acceptEarlierServer(): void {
    if (!this.#isLedByOther) this.#timelines.newest = 0;
  }

  reportHost(report: HostReport): Promise<void> {
    return reportHost(this.#background, report);
  }

  readHosts(): Promise<readonly HostRow[]> {
    return readHosts(this.#background);
  }

  removeHost(host: string): Promise<void> {
    return removeHost(this.#background, host);
  }

  async trim(upTo: number, minAgeMs: number, limit: number): Promise<number> {
    const [row] = await this.#background.runStatement(TRIM, [upTo, minAgeMs, limit]);
    return Number(row?.["count"]);
  }

  readFileVersions(): Promise<ReadonlyMap<string, number>> {
    return readFileVersions(this.#background);
  }

  readFile(name: string): Promise<LogFile | null> {
    return readFile(this.#background, name);
  }

  writeFile(epoch: number, name: string, content: Uint8Array): Promise<number | null> {
    return writeFile(this.#background, { epoch, holder: this.#options.host }, name, content);
  }

  readDatabase(): Promise<DatabaseReport> {
    return readDatabaseReport(this.#background);
  }

  async close(): Promise<void> {
    for (const connection of [this.#writer, this.#reader, this.#background]) connection.close();
  }

  #toLeader(row: Row | undefined): LogLeader {
    if (row === undefined) throw new Error("the log has no row for its leader");
    const { epoch, holder, url, head, sum, successor, remaining } = row;
    return {
      epoch: Number(epoch),
      holder: toText(holder),
      url: toClientUrl(url),
      seq: Number(head),
      sum: String(sum),
      successor: toText(successor),
      remainingMs: Number(remaining),
      isOwn: row["instance"] === this.#instance,
      term: String(row["term"]),
      termMs: Number(row["term_ms"]),
    };
  }
}

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

async function readFileVersions(connection: LogConnection): Promise<ReadonlyMap<string, number>> {
  const rows = await connection.runStatement(READ_VERSIONS);
  return new Map(rows.map(({ name, version }) => [String(name), Number(version)]));
}

async function readFile(connection: LogConnection, name: string): Promise<LogFile | null> {
  const [row] = await connection.runStatement(READ, [name]);
  if (!(row?.["content"] instanceof Uint8Array)) return null;
  return { version: Number(row["version"]), content: new Uint8Array(row["content"]) };
}

async function writeFile(
  connection: LogConnection,
  { epoch, holder }: { readonly epoch: number; readonly holder: string },
  name: string,
  content: Uint8Array,
): Promise<number | null> {
  const [row] = await connection.runStatement(WRITE, [epoch, holder, name, content]);
  return row === undefined ? null : Number(row["version"]);
}
