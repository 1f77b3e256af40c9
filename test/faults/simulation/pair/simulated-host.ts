import type { Fault } from "../../../../src/domain/model/fault.ts";
import { instant } from "../../../../src/domain/time.ts";
import { checkpoint } from "../../../../src/store/checkpoint/checkpoint.ts";
import type { StorageFault } from "../../../../src/store/journal/storage-fault.ts";
import { CannotFollow } from "../../../../src/store/log/log-refusals.ts";
import { Store } from "../../../../src/store/store.ts";
import { HARDWARE, HARDWARE_ID } from "../../../support/new-site.ts";
import type { SeededRandom } from "../../../support/seeded-random.ts";
import { listSegments } from "../audit-log-check.ts";
import { FaultInjector } from "../fault-injector.ts";
import { assertPromise, emptyFigures } from "../promises.ts";
import type { SimulatedDisk } from "../simulated-disk.ts";
import { ProcessKilledError } from "../simulated-process.ts";
import { SIMULATED_FOLDER } from "../simulated-server.ts";
import type { UnreliableLog } from "./unreliable-log.ts";

export interface HostEnvironment {
  readonly name: string;
  readonly disk: SimulatedDisk;
  readonly log: UnreliableLog;
  readonly random: SeededRandom;
  readonly now: () => number;
  /** Called with the change of each reply; `fault` null: it was acknowledged. */
  readonly onReply: (change: string, fault: Fault | StorageFault | null) => void;
}

/** How long a host may lead, by the clock of the log. */
export const TERM = 10_000;

/** One host of the pair: its disk, and its server if it runs. */
export class SimulatedHost {
  readonly name: string;
  readonly disk: SimulatedDisk;
  readonly injector: FaultInjector;
  readonly #environment: HostEnvironment;
  readonly #figures = emptyFigures();
  #store: Store | null = null;
  #startCount = 0;
  #failuresBefore = 0;
  #hasFailed = false;
  /** What the host does to lead or to follow, one thing at a time. */
  #roleWork: Promise<void> | null = null;

  constructor(environment: HostEnvironment) {
    this.name = environment.name;
    this.disk = environment.disk;
    this.#environment = environment;
    this.injector = new FaultInjector(this.disk, environment.random, this.#figures);
    this.disk.onCall = (call) => this.injector.injectIfDue(call);
  }

  get store(): Store | null {
    return this.#store;
  }

  get isLeading(): boolean {
    return this.#store !== null && this.#store.status().fault === null;
  }

  get isIdle(): boolean {
    return this.#roleWork === null;
  }

  /** Whether its process must end: its disk failed, or it was killed. */
  get mustRestart(): boolean {
    return this.#hasFailed || this.injector.downCause !== null;
  }

  async open(): Promise<void> {
    const { log, now } = this.#environment;
    this.#startCount += 1;
    this.#hasFailed = false;
    this.#failuresBefore = this.#figures.diskFailures;
    const start = this.#startCount;
    this.#store = await Store.open({
      disk: this.disk.startProcess("server"),
      folder: SIMULATED_FOLDER,
      kind: "site",
      create: false,
      uid: 0,
      clock: () => instant(now()),
      openLog: async () => log.connectUnreliably(this.name, `${this.name} ${start}`),
      checkpoint: (folder, open) => checkpoint(this.disk.startProcess("checkpoint"), folder, open),
      onFatal: (error) => {
        const isKilled = [error, error.cause].some((one) => one instanceof ProcessKilledError);
        if (start === this.#startCount && !isKilled) this.#noteFatal(error);
      },
    });
    this.checkJournal();
  }

  /** Its process ends; what it left on the disk stays. */
  end(): void {
    this.#store = null;
    this.#roleWork = null;
    this.disk.killAll("server");
    this.disk.killAll("checkpoint");
    this.injector.reset();
  }

  /** Sends changes that can be told from all others. */
  send(changes: readonly string[]): void {
    const { random, onReply } = this.#environment;
    const store = this.#store;
    for (const change of changes) {
      void store
        ?.transact({ type: "SetKeys", changed: [change], peer: "" }, () => null)
        .then((result) => {
          if (store === this.#store) onReply(change, result.ok ? null : result.fault);
        });
      // A line that others may share.
      if (random.chance(0.3)) void store?.transact({ type: "MarkClock" }, () => null);
    }
  }

  follow(): void {
    this.#work(async (store) => void (await store.follow()));
  }

  /** Leads, if no other host's term lasts. */
  lead(): void {
    const { log } = this.#environment;
    const instance = `${this.name} ${this.#startCount}`;
    this.#work(async (store) => {
      const row = await log.connect(this.name, instance).claimTerm(TERM);
      if (row === null) return;
      const { name: host } = this;
      const hardware = { hardware: HARDWARE, hardwareId: HARDWARE_ID };
      const { epoch } = row;
      const names = { log: "simulated log", host, ...hardware };
      await store.lead(epoch, { type: "ChangeLeader", epoch, ...names });
    });
  }

  stepDown(): void {
    this.#work((store) => store.stopLeading({ code: "standby" }));
  }

  #work(work: (store: Store) => Promise<void>): void {
    const store = this.#store;
    if (this.#roleWork !== null || store === null) return;
    const running = work(store).catch((error: unknown) => {
      assertPromise(
        "answers",
        !(error instanceof CannotFollow),
        () => `${this.name}: ${String(error)}`,
      );
    });
    this.#roleWork = running.finally(() => {
      if (store === this.#store) this.#roleWork = null;
    });
  }

  /** Every line of its journal must be a line of the log. */
  checkJournal(): void {
    const { log } = this.#environment;
    const texts = new Map(log.lines.map(({ seq, text }) => [seq, text]));
    for (const path of listSegments(this.disk, SIMULATED_FOLDER)) {
      const content = Buffer.from(this.disk.findFile(path)?.view() ?? []).toString("utf8");
      for (const line of content.split("\n").slice(0, -1)) {
        const { seq } = JSON.parse(line) as { readonly seq: number };
        const inLog = texts.get(seq);
        const isFirst = seq < (log.lines[0]?.seq ?? Infinity);
        assertPromise("kept", isFirst || inLog === `${line}\n`, () => {
          return `line ${seq} of ${this.name} is ${line}, and in the log ${inLog}`;
        });
      }
    }
  }

  #noteFatal(error: Error): void {
    this.#hasFailed = true;
    const isInjected = this.#figures.diskFailures > this.#failuresBefore;
    assertPromise("starts", isInjected, () => `${this.name} failed: ${error.stack}`);
  }
}
