// A shared log whose appends are lost, answered never, or happen late, as the seed chooses.
import type { LineBatch } from "../../../../src/store/journal/batch-writer.ts";
import { LogUnavailable, type LogLine } from "../../../../src/store/log/shared-log.ts";
import type { SeededRandom } from "../../../support/seeded-random.ts";
import { SimulatedHostLog, SimulatedLog } from "../../../support/simulated-log.ts";

/** What happens to appends, in percent. `late`: given up by the host, and then it happens. */
const FATES = { done: 88, slow: 6, lost: 2, "answer lost": 2, late: 2 } as const;

export class UnreliableLog extends SimulatedLog {
  isReliable = true;
  readonly #random: SeededRandom;
  #lateWork: (() => void)[] = [];

  constructor(end: { readonly seq: number; readonly sum: string }, random: SeededRandom) {
    super(end);
    this.#random = random;
  }

  connectUnreliably(host: string, instance: string): UnreliableHostLog {
    return new UnreliableHostLog(this, host, instance);
  }

  chooseFate(): keyof typeof FATES {
    return this.isReliable ? "done" : this.#random.pickWeighted(FATES);
  }

  /** Whether a read fails. */
  isReadLost(): boolean {
    return !this.isReliable && this.#random.chance(0.02);
  }

  delay(work: () => void): void {
    this.#lateWork.push(work);
  }

  /** Lets what is late happen; false: nothing was. */
  runLateWork(): boolean {
    const work = this.#lateWork.splice(0);
    for (const run of work) run();
    return work.length > 0;
  }
}

class UnreliableHostLog extends SimulatedHostLog {
  readonly #unreliable: UnreliableLog;

  constructor(log: UnreliableLog, host: string, instance: string) {
    super(log, host, instance);
    this.#unreliable = log;
  }

  override async append(epoch: number, batch: LineBatch): Promise<boolean> {
    const fate = this.#unreliable.chooseFate();
    const append = (): Promise<boolean> => super.append(epoch, batch);
    switch (fate) {
      case "done":
        return append();
      case "slow":
        await new Promise<void>((resolve) => {
          this.#unreliable.delay(resolve);
        });
        return append();
      case "lost":
        throw new LogUnavailable("the statement was lost");
      case "answer lost":
        await append();
        throw new LogUnavailable("the answer was lost");
      case "late":
        this.#unreliable.delay(() => void append());
        throw new LogUnavailable("no answer in time");
    }
  }

  override async readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    if (this.#unreliable.isReadLost()) throw new LogUnavailable("no answer");
    return super.readLines(after, limit);
  }
}
