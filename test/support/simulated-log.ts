// A shared log in memory, with the promises of the real one, and faults that a test chooses.
import type { LineBatch } from "../../src/store/journal/batch-writer.ts";
import {
  LogUnavailable,
  type LogEnd,
  type LogLeader,
  type LogLine,
  type SharedLog,
} from "../../src/store/log/shared-log.ts";

/** What happens to the next append: it is lost, or it happens and its answer is lost. */
export type AppendFault = "lost" | "answer lost";

export class SimulatedLog implements SharedLog {
  readonly id = "simulated log";
  readonly lines: LogLine[] = [];
  #leader: LogLeader;
  #fault: AppendFault | null = null;

  constructor(base: LogEnd) {
    const { seq, sum } = base;
    this.#leader = { seq, sum, epoch: 0, holder: null, url: null, remainingMs: 0, heir: null };
  }

  /** Lets this host lead from now on; returns its epoch. */
  appoint(holder: string): number {
    this.#leader = { ...this.#leader, holder, epoch: this.#leader.epoch + 1 };
    return this.#leader.epoch;
  }

  failNextAppend(fault: AppendFault): void {
    this.#fault = fault;
  }

  readLeader = (): Promise<LogLeader> => Promise.resolve(this.#leader);

  readLines = (after: number, limit: number): Promise<readonly LogLine[]> =>
    Promise.resolve(this.lines.filter(({ seq }) => seq > after).slice(0, limit));

  append = (epoch: number, batch: LineBatch): Promise<boolean> => {
    const fault = this.#fault;
    this.#fault = null;
    if (fault === "lost") return Promise.reject(new LogUnavailable("the statement was lost"));
    const isAppended = this.#appendIfLeading(epoch, batch);
    if (fault === "answer lost") return Promise.reject(new LogUnavailable("no answer"));
    return Promise.resolve(isAppended);
  };

  #appendIfLeading(epoch: number, { firstSeq, lastSeq, prev, sum, texts }: LineBatch): boolean {
    const { seq, sum: end, epoch: current } = this.#leader;
    if (epoch !== current || firstSeq !== seq + 1 || prev !== end) return false;
    for (const [index, text] of texts.entries()) {
      this.lines.push({ seq: firstSeq + index, epoch, text });
    }
    this.#leader = { ...this.#leader, seq: lastSeq, sum };
    return true;
  }
}
