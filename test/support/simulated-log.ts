// A shared log in memory, with the promises of the real one, and faults that a test chooses.
import type { LineBatch } from "../../src/store/journal/batch-writer.ts";
import {
  LogUnavailable,
  type HostLog,
  type LogEnd,
  type LogLeader,
  type LogLine,
} from "../../src/store/log/shared-log.ts";

/** What happens to the next append: it is lost, or it happens and its answer is lost. */
export type AppendFault = "lost" | "answer lost";

type Leader = Omit<LogLeader, "remainingMs">;

/** What both hosts share. */
export class SimulatedLog {
  readonly lines: LogLine[] = [];
  leader: Leader;
  /** By the clock of the log, which only `advance` moves. */
  until = 0;
  heirUntil = 0;
  now = 0;
  fault: AppendFault | null = null;

  constructor({ seq, sum }: LogEnd) {
    this.leader = { seq, sum, epoch: 0, holder: null, url: null, heir: null };
  }

  connect(host: string): SimulatedHostLog {
    return new SimulatedHostLog(this, host);
  }
}

/** The log as one host uses it. */
export class SimulatedHostLog implements HostLog {
  readonly id = "simulated log";
  readonly #log: SimulatedLog;
  readonly #host: string;

  constructor(log: SimulatedLog, host: string) {
    this.#log = log;
    this.#host = host;
  }

  async readLeader(): Promise<LogLeader> {
    return this.#viewLeader();
  }

  #viewLeader(): LogLeader {
    const { leader, until, heirUntil, now } = this.#log;
    const heir = now < heirUntil ? leader.heir : null;
    return { ...leader, heir, remainingMs: Math.max(0, until - now) };
  }

  async readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    return this.#log.lines.filter(({ seq }) => seq > after).slice(0, limit);
  }

  async append(epoch: number, batch: LineBatch): Promise<boolean> {
    const { fault } = this.#log;
    this.#log.fault = null;
    if (fault === "lost") throw new LogUnavailable("the statement was lost");
    const isAppended = this.#appendIfLeading(epoch, batch);
    if (fault === "answer lost") throw new LogUnavailable("no answer");
    return isAppended;
  }

  async claim(termMs: number): Promise<LogLeader | null> {
    const log = this.#log;
    const { holder, epoch } = log.leader;
    const { heir, remainingMs } = this.#viewLeader();
    const isFree = remainingMs === 0 && (heir === null || heir === this.#host);
    if (holder !== this.#host && !isFree) return null;
    log.leader = { ...log.leader, holder: this.#host, epoch: epoch + 1, heir: null };
    log.until = log.now + termMs;
    return this.#viewLeader();
  }

  async renew(epoch: number, termMs: number): Promise<boolean> {
    if (!this.#isLeading(epoch)) return false;
    this.#log.until = this.#log.now + termMs;
    return true;
  }

  async release(epoch: number, heir: string | null, heirMs: number): Promise<void> {
    const log = this.#log;
    if (!this.#isLeading(epoch)) return;
    log.leader = { ...log.leader, holder: null, heir };
    log.until = log.now;
    log.heirUntil = log.now + heirMs;
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
    }
    log.leader = { ...log.leader, seq: lastSeq, sum };
    return true;
  }
}
