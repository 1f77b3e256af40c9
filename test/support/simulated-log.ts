// A shared log in memory, with the promises of the real one, and faults that a test chooses.
import type { LineBatch } from "../../src/store/journal/batch-writer.ts";
import {
  LogRefused,
  LogUnavailable,
  type DatabaseReport,
  type HostLog,
  type HostReport,
  type HostRow,
  type LogFile,
  type LogEnd,
  type LogLeader,
  type LogLine,
} from "../../src/store/log/shared-log.ts";

/** What happens to the next append: it is lost, or it happens and its answer is lost. */
export type AppendFault = "lost" | "answer lost";

type Leader = Omit<LogLeader, "remainingMs" | "isOwn" | "term" | "termMs">;

/** What both hosts share. */
export class SimulatedLog {
  readonly lines: LogLine[] = [];
  leader: Leader;
  /** By the clock of the log, which only `advance` moves. */
  until = 0;
  successorUntil = 0;
  /** How often a term began or was renewed. */
  terms = 0;
  termMs = 0;
  now = 0;
  fault: AppendFault | null = null;
  /** What the database says to every append; null: it accepts them. */
  refusal: string | null = null;
  /** The process that leads. */
  instance: string | null = null;
  /** The last line of each process. */
  readonly lastAppended = new Map<string, number>();
  /** When each line was appended. */
  readonly addedAt = new Map<number, number>();
  readonly hosts = new Map<string, HostReport & { readonly seenAt: number }>();
  readonly files = new Map<string, LogFile>();
  database: DatabaseReport = {
    version: "15.0",
    server: "db.example:5432",
    replication: "strict",
    lacksStandby: false,
    problems: [],
  };
  /** What the next reads of lines and appends wait for. */
  readDelay: Promise<void> = Promise.resolve();
  appendDelay: Promise<void> = Promise.resolve();

  constructor({ seq, sum }: LogEnd) {
    this.leader = { seq, sum, epoch: 0, holder: null, url: null, successor: null };
  }

  /** Another instance is another process of the host. */
  connect(host: string, instance: string = host): SimulatedHostLog {
    return new SimulatedHostLog(this, host, instance);
  }
}

/** The log as one host uses it. */
export class SimulatedHostLog implements HostLog {
  readonly id = "simulated log";
  readonly #log: SimulatedLog;
  readonly #host: string;
  readonly #instance: string;

  constructor(log: SimulatedLog, host: string, instance: string) {
    this.#log = log;
    this.#host = host;
    this.#instance = instance;
  }

  async readLeader(): Promise<LogLeader> {
    return this.#viewLeader();
  }

  #viewLeader(): LogLeader {
    const { leader, until, successorUntil, now, instance, termMs, terms } = this.#log;
    return {
      ...leader,
      successor: now < successorUntil ? leader.successor : null,
      isOwn: leader.holder === this.#host && instance === this.#instance,
      term: `term ${terms}`,
      termMs,
      remainingMs: Math.max(0, until - now),
    };
  }

  async readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    const lines = this.#log.lines.filter(({ seq }) => seq > after).slice(0, limit);
    await this.#log.readDelay;
    return lines;
  }

  async append(epoch: number, batch: LineBatch): Promise<boolean> {
    const { fault, refusal } = this.#log;
    this.#log.fault = null;
    if (refusal !== null) throw new LogRefused(refusal);
    await this.#log.appendDelay;
    if (fault === "lost") throw new LogUnavailable("the statement was lost");
    const isAppended = this.#appendIfLeading(epoch, batch);
    if (fault === "answer lost") throw new LogUnavailable("no answer");
    return isAppended;
  }

  async claimTerm(termMs: number, endedTerm?: string): Promise<LogLeader | null> {
    const log = this.#log;
    const { epoch, successor, remainingMs, term, isOwn } = this.#viewLeader();
    const isOver = endedTerm === undefined ? isOwn || remainingMs === 0 : endedTerm === term;
    if (!isOver || (successor !== null && successor !== this.#host)) return null;
    log.instance = this.#instance;
    log.leader = { ...log.leader, holder: this.#host, epoch: epoch + 1, successor: null };
    log.until = log.now + termMs;
    log.termMs = termMs;
    log.terms += 1;
    return this.#viewLeader();
  }

  async renew(epoch: number, termMs: number): Promise<boolean> {
    if (!this.#isLeading(epoch) || this.#hasLostLines()) return false;
    this.#log.until = this.#log.now + termMs;
    this.#log.termMs = termMs;
    this.#log.terms += 1;
    return true;
  }

  async release(epoch: number, successor: string | null, successorMs: number): Promise<void> {
    const log = this.#log;
    if (!this.#isLeading(epoch)) return;
    log.leader = { ...log.leader, holder: null, successor };
    log.until = log.now;
    log.successorUntil = log.now + successorMs;
    log.terms += 1;
    log.instance = null;
  }

  acceptEarlierServer(): void {}

  async reportHost(report: HostReport): Promise<void> {
    this.#log.hosts.set(report.host, { ...report, seenAt: this.#log.now });
  }

  async readHosts(): Promise<readonly HostRow[]> {
    const { hosts, now } = this.#log;
    const rows = [...hosts.values()].toSorted((one, two) => (one.host < two.host ? -1 : 1));
    return rows.map(({ seenAt, ...report }) => ({
      ...report,
      ageMs: now - seenAt,
      clockAheadMs: report.systemTime - seenAt,
    }));
  }

  async removeHost(host: string): Promise<void> {
    this.#log.hosts.delete(host);
  }

  async trim(upTo: number, minAgeMs: number, limit: number): Promise<number> {
    const { lines, addedAt, now } = this.#log;
    const isKept = ({ seq }: LogLine): boolean =>
      seq > upTo || (addedAt.get(seq) ?? 0) > now - minAgeMs;
    const firstKept = lines.findIndex(isKept);
    const count = Math.min(limit, firstKept === -1 ? lines.length : firstKept);
    lines.splice(0, count);
    return count;
  }

  async readFileVersions(): Promise<ReadonlyMap<string, number>> {
    return new Map([...this.#log.files].map(([name, { version }]) => [name, version]));
  }

  async readFile(name: string): Promise<LogFile | null> {
    return this.#log.files.get(name) ?? null;
  }

  async writeFile(epoch: number, name: string, content: Uint8Array): Promise<number | null> {
    if (!this.#isLeading(epoch)) return null;
    const version = (this.#log.files.get(name)?.version ?? 0) + 1;
    this.#log.files.set(name, { version, content });
    return version;
  }

  async readDatabase(): Promise<DatabaseReport> {
    return this.#log.database;
  }

  #hasLostLines(): boolean {
    return this.#log.leader.seq < (this.#log.lastAppended.get(this.#instance) ?? 0);
  }

  #isLeading(epoch: number): boolean {
    const { leader } = this.#log;
    return leader.epoch === epoch && leader.holder === this.#host;
  }

  #appendIfLeading(epoch: number, { firstSeq, lastSeq, prev, sum, texts }: LineBatch): boolean {
    const log = this.#log;
    const isContinued = firstSeq === log.leader.seq + 1 && prev === log.leader.sum;
    if (!this.#isLeading(epoch) || !isContinued) return false;
    for (const [index, text] of texts.entries()) {
      log.lines.push({ seq: firstSeq + index, epoch, text });
      log.addedAt.set(firstSeq + index, log.now);
    }
    log.leader = { ...log.leader, seq: lastSeq, sum };
    log.lastAppended.set(this.#instance, lastSeq);
    return true;
  }
}
