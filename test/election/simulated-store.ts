// The store of a simulated host: its state is the list of values that were written, and each of
// them is one line of the log.
import { err, ok } from "../../src/domain/result.ts";
import type { State } from "../../src/domain/model/state.ts";
import type { LeadershipOptions } from "../../src/operations/pair/leadership-types.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import { LogUnavailable, type HostLog } from "../../src/store/log/shared-log.ts";

type LedStore = LeadershipOptions["store"];

/** Of both hosts. */
export const HARDWARE = [{ kind: "named", digest: "machine" }] as const;

/** What the leadership needs of the state. */
const STATE = {
  pair: {
    hosts: new Map([
      ["alpha", { hardware: HARDWARE }],
      ["beta", { hardware: HARDWARE }],
    ]),
  },
} as unknown as State;

export class SimulatedStore implements LedStore {
  readonly #log: HostLog;
  /** What was written, as far as this host has it; the index is the number of the line. */
  values: string[] = [];
  /** How many of them are in the log for certain. */
  durableCount = 0;
  #fault: StorageFault | null = { code: "standby" };
  #epoch: number | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(log: HostLog) {
    this.#log = log;
  }

  async follow(): Promise<null> {
    await this.stopLeading({ code: "standby" });
    await this.#catchUp();
    return null;
  }

  lead: LedStore["lead"] = async (epoch) => {
    await this.follow();
    this.#fault = null;
    this.#epoch = epoch;
    const fault = await this.write(`leader ${epoch}`);
    return fault === null ? ok(null as never) : err(fault);
  };

  async stopLeading(fault: StorageFault): Promise<void> {
    this.#fault ??= fault;
    await this.#writing;
    this.#epoch = null;
  }

  status: LedStore["status"] = () => ({
    fault: this.#fault,
    folderChange: null,
    notes: [],
    checkpointError: null,
    isStateMissing: false,
    followProblem: null,
    appendError: null,
    seq: this.values.length,
    head: { seq: this.durableCount, sum: sumOf(this.durableCount, this.values) },
    coveredSeq: 0,
    auditSeq: 0,
    journalBytes: 0,
  });

  peek: LedStore["peek"] = (view) => view(STATE);

  /** Resolves when the value is durable, or with why it is not. */
  async write(value: string): Promise<StorageFault | null> {
    if (this.#fault !== null || this.#epoch === null) return this.#fault ?? { code: "standby" };
    const epoch = this.#epoch;
    this.values.push(value);
    const seq = this.values.length;
    const batch = {
      firstSeq: seq,
      lastSeq: seq,
      prev: sumOf(seq - 1, this.values),
      sum: sumOf(seq, this.values),
      texts: [value],
    };
    const before = this.#writing;
    let result: StorageFault | null = null;
    this.#writing = before.then(async () => {
      result = await this.#append(epoch, batch);
    });
    await this.#writing;
    return result;
  }

  /** What a reply may show; null: this host cannot read now. */
  async read(): Promise<readonly string[] | null> {
    if (this.#fault !== null) return null;
    const seen = this.values.slice();
    await this.#writing;
    return this.#fault === null && this.durableCount >= seen.length ? seen : null;
  }

  async #append(
    epoch: number,
    batch: Parameters<HostLog["append"]>[1],
  ): Promise<StorageFault | null> {
    // A batch before this one failed: what memory has is not what the log has.
    if (this.durableCount !== batch.firstSeq - 1) return this.#fail(this.#fault);
    try {
      const isAppended = await this.#log.append(epoch, batch);
      if (!isAppended) return this.#fail({ code: "standby" });
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      return this.#fail({ code: "log_unavailable" });
    }
    this.durableCount = batch.lastSeq;
    return null;
  }

  #fail(fault: StorageFault | null): StorageFault {
    this.#fault = fault ?? { code: "standby" };
    this.values.length = this.durableCount;
    return this.#fault;
  }

  async #catchUp(): Promise<void> {
    for (const { seq, text } of await this.#log.readLines(this.durableCount, 1_000_000)) {
      if (seq !== this.durableCount + 1) throw new Error(`line ${seq} does not continue`);
      this.values.length = this.durableCount;
      this.values.push(text);
      this.durableCount = seq;
    }
    if (this.#fault?.code === "log_unavailable") this.#fault = { code: "standby" };
  }
}

const sumOf = (seq: number, values: readonly string[]): string => `${seq} ${values[seq - 1] ?? ""}`;
