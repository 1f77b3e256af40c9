// A host of the simulation: a process that can be paused, killed and started again, and its
// connection to the log, which loses and delays statements.
import { Leadership } from "../../src/operations/pair/leadership.ts";
import { LogUnavailable, type HostLog } from "../../src/store/log/shared-log.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { SimulatedHostLog, SimulatedLog } from "../support/simulated-log.ts";
import { HARDWARE, SimulatedStore } from "./simulated-store.ts";
import type { VirtualTime } from "./virtual-time.ts";

export const TERM = 10_000;
const POLL = 500;
const CHECK = 250;
const REPORT = 2_000;
/** A statement that takes long, but less than its deadline. */
const SLOW = 2_000;
/** As in the product: a statement ends within half a term. */
const DEADLINE = TERM / 2;

/** What the hosts share. */
export interface World {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  readonly log: SimulatedLog;
  /** How far the clock of the log is ahead. */
  logOffset: number;
  /** All faults ended. */
  isCalm: boolean;
}

/** How the way to the log fails; null: it does not. */
export type Outage = "requests lost" | "replies lost" | "requests late";

/** Work of one process, as long as it runs. */
type After = (milliseconds: number, work: () => void) => void;

interface HostProcess {
  readonly store: SimulatedStore;
  readonly leadership: Leadership;
}

export class SimulatedHost {
  readonly name: "alpha" | "beta";
  readonly #world: World;
  /** Its clock runs a little faster or slower than that of the other host. */
  readonly #rate: number;
  readonly #bootOffset: number;
  outage: Outage | null = null;
  #process: HostProcess | null = null;
  #processCount = 0;
  #resumeAt = 0;

  constructor(name: "alpha" | "beta", world: World) {
    this.name = name;
    this.#world = world;
    this.#rate = 1 + world.random.intBetween(-20, 20) / 1_000;
    this.#bootOffset = world.random.intBelow(1_000_000);
  }

  /** Null: no process runs, or it is paused. */
  get running(): HostProcess | null {
    return this.#isPaused ? null : this.#process;
  }

  /** Also while it is paused: its term must be over by itself. */
  get mayAnswer(): boolean {
    return this.#process?.leadership.mayAnswer() === true;
  }

  start(): void {
    if (this.#process !== null) return;
    const count = (this.#processCount += 1);
    const after = (delay: number, work: () => void): void => this.#after(count, delay, work);
    const log = this.#connect(this.#world.log.connect(this.name, `${this.name} ${count}`), after);
    const store = new SimulatedStore(log);
    const leadership = new Leadership({
      store,
      log,
      host: this.name,
      hardwareId: this.name,
      hardware: HARDWARE,
      url: null,
      version: "1.0.0",
      termMs: TERM,
      pollMs: POLL,
      bootMs: () => this.#bootOffset + this.#world.time.now * this.#rate,
      systemTime: () => this.#world.time.now,
      sleep: (milliseconds) =>
        new Promise((resolve) => after(Number(milliseconds), () => resolve())),
    });
    this.#process = { store, leadership };
    const repeat = (delay: number, work: () => Promise<void>): void =>
      after(delay, () => void work().then(() => repeat(delay, work)));
    repeat(POLL, () => leadership.step());
    repeat(CHECK, async () => leadership.checkTerm());
    repeat(REPORT, () => log.reportHost(describe(this.name, store)).catch(() => {}));
  }

  kill(): void {
    this.#process = null;
  }

  /** As a service manager stops it. */
  async stop(): Promise<void> {
    const stopped = this.#process;
    await stopped?.leadership.stop();
    if (this.#process === stopped) this.kill();
  }

  pause(milliseconds: number): void {
    this.#resumeAt = Math.max(this.#resumeAt, this.#world.time.now + milliseconds);
  }

  get #isPaused(): boolean {
    return this.#world.time.now < this.#resumeAt;
  }

  /** For this process: a killed one does nothing more, and a paused one does it later. */
  #after(count: number, milliseconds: number, work: () => void): void {
    const { time } = this.#world;
    const run = (): void => {
      if (count !== this.#processCount || this.#process === null) return;
      if (this.#isPaused) time.after(this.#resumeAt - time.now, run);
      else work();
    };
    time.after(milliseconds, run);
  }

  #connect(log: SimulatedHostLog, after: After): HostLog {
    const send = <T>(perform: () => Promise<T>): Promise<T> => this.#send(perform, after);
    return {
      id: log.id,
      readLeader: () => send(() => log.readLeader()),
      readLines: (after, limit) => send(() => log.readLines(after, limit)),
      append: (epoch, batch) => send(() => log.append(epoch, batch)),
      claimTerm: (termMs, endedTerm) => send(() => log.claimTerm(termMs, endedTerm)),
      renew: (epoch, termMs) => send(() => log.renew(epoch, termMs)),
      release: (epoch, successor, successorMs) =>
        send(() => log.release(epoch, successor, successorMs)),
      acceptEarlierServer: () => {},
      reportHost: (report) => send(() => log.reportHost(report)),
      readHosts: () => send(() => log.readHosts()),
      removeHost: (host) => send(() => log.removeHost(host)),
      trim: (upTo, minAgeMs, limit) => send(() => log.trim(upTo, minAgeMs, limit)),
      readFileVersions: () => send(() => log.readFileVersions()),
      readFile: (name) => send(() => log.readFile(name)),
      writeFile: (epoch, name, content) => send(() => log.writeFile(epoch, name, content)),
      readDatabase: () => send(() => log.readDatabase()),
    };
  }

  /** A statement that was sent may be performed although nobody waits for it any more. */
  #send<T>(perform: () => Promise<T>, after: After): Promise<T> {
    const { time, random } = this.#world;
    return new Promise((resolve, reject) => {
      after(DEADLINE, () => reject(new LogUnavailable("the log did not answer in time")));
      const { outage } = this;
      if (outage === "requests lost") return;
      const lateness = outage === "requests late" ? random.intBelow(3 * TERM) : 0;
      time.after(this.#latency() + lateness, () => {
        this.#world.log.now = time.now + this.#world.logOffset;
        void perform().then((result) => {
          if (outage !== null || this.outage !== null) return;
          after(this.#latency(), () => resolve(result));
        });
      });
    });
  }

  #latency(): number {
    const { random, isCalm } = this.#world;
    if (isCalm || random.chance(0.85)) return random.intBetween(1, 20);
    return random.intBelow(random.chance(0.8) ? SLOW : TERM);
  }
}

const describe = (host: string, store: SimulatedStore) => {
  const { head, coveredSeq: covered } = store.status();
  return { host, hardwareId: host, url: null, version: "1.0.0", head, covered, systemTime: 0 };
};
