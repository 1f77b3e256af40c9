// One run of two hosts with random faults, by a seed. It says what went wrong, if anything did.
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedLog } from "../support/simulated-log.ts";
import { SimulatedHost, TERM, type Outage, type World } from "./simulated-host.ts";
import { VirtualTime } from "./virtual-time.ts";

const SECOND = 1_000;
const FAULTS_END = 60 * SECOND;
/** By then a host leads again, whatever happened before. */
const CALM = 5 * TERM;

export interface SimulationResult {
  /** Null: all went well. */
  readonly problem: string | null;
  readonly acknowledged: number;
  readonly leaders: number;
}

const OUTAGES: readonly Outage[] = ["requests lost", "replies lost", "requests late"];

class PairSimulation {
  readonly #random: SeededRandom;
  readonly #world: World;
  readonly #hosts: readonly SimulatedHost[];
  readonly #acknowledged: string[] = [];
  #problem: string | null = null;
  #writeCount = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const log = new SimulatedLog({ seq: 0, sum: "0 " });
    this.#world = {
      time: new VirtualTime(),
      random: this.#random,
      log,
      logOffset: 0,
      isCalm: false,
    };
    this.#hosts = [new SimulatedHost("alpha", this.#world), new SimulatedHost("beta", this.#world)];
  }

  async run(): Promise<SimulationResult> {
    const { time, log } = this.#world;
    for (const host of this.#hosts) host.start();
    this.#planFault();
    this.#planCall();
    const check = (): void => this.#checkAnswers();
    await time.runUntil(FAULTS_END, check);
    this.#world.isCalm = true;
    await time.runUntil(FAULTS_END + CALM, check);
    const before = this.#acknowledged.length;
    for (const host of this.#hosts) void this.#write(host);
    await time.runUntil(FAULTS_END + CALM + 5 * SECOND, check);
    if (this.#acknowledged.length === before) this.#note("no host leads after the faults ended");
    this.#checkLog();
    for (const host of this.#hosts) host.kill();
    return {
      problem: this.#problem,
      acknowledged: this.#acknowledged.length,
      leaders: log.leader.epoch,
    };
  }

  #note(problem: string): void {
    this.#problem ??= `${problem} (at ${this.#world.time.now} ms)`;
  }

  #checkAnswers(): void {
    if (this.#hosts.every((host) => host.mayAnswer)) this.#note("both hosts answer");
  }

  #checkLog(): void {
    const texts = this.#world.log.lines.map(({ text }) => text);
    const known = new Set(texts);
    if (known.size !== texts.length) this.#note("a line is in the log twice");
    const lost = this.#acknowledged.find((value) => !known.has(value));
    if (lost !== undefined) this.#note(`${lost} was acknowledged, and is lost`);
  }

  #planFault(): void {
    const { time } = this.#world;
    time.after(this.#random.intBetween(500, 8_000), () => {
      if (time.now >= FAULTS_END) return;
      this.#breakSomething();
      this.#planFault();
    });
  }

  #breakSomething(): void {
    const host = this.#random.pick(this.#hosts);
    const milliseconds = this.#random.intBetween(50, 2.5 * TERM);
    const fault = this.#random.pickWeighted({
      pause: 4,
      partition: 4,
      databaseAway: 2,
      kill: 2,
      stop: 2,
      handOver: 3,
      clock: 2,
    });
    if (fault === "pause") host.pause(milliseconds);
    if (fault === "partition") this.#cut([host], milliseconds);
    if (fault === "databaseAway") this.#cut(this.#hosts, milliseconds);
    if (fault === "kill") this.#restart(host, Promise.resolve(host.kill()), milliseconds);
    if (fault === "stop") this.#restart(host, host.stop(), milliseconds);
    if (fault === "handOver") void host.running?.leadership.handOver();
    // As if another database server took over.
    if (fault === "clock") this.#world.logOffset = this.#random.intBetween(-120, 120) * SECOND;
  }

  #cut(hosts: readonly SimulatedHost[], milliseconds: number): void {
    const outage = this.#random.pick(OUTAGES);
    for (const host of hosts) host.outage = outage;
    const { time } = this.#world;
    const end = Math.min(milliseconds, FAULTS_END - time.now);
    time.after(end, () => {
      for (const host of hosts) host.outage = null;
    });
  }

  #restart(host: SimulatedHost, stopped: Promise<void>, milliseconds: number): void {
    const { time } = this.#world;
    const delay = Math.min(milliseconds, FAULTS_END - time.now);
    void stopped.then(() => time.after(delay, () => host.start()));
    // A paused process does not stop by itself: the service manager kills it.
    time.after(delay + TERM, () => {
      host.kill();
      host.start();
    });
  }

  #planCall(): void {
    const { time } = this.#world;
    time.after(this.#random.intBetween(50, 400), () => {
      const host = this.#random.pick(this.#hosts);
      void (this.#random.chance(0.5) ? this.#write(host) : this.#read(host));
      this.#planCall();
    });
  }

  async #write({ running }: SimulatedHost): Promise<void> {
    if (running === null || !running.leadership.mayAccept()) return;
    this.#writeCount += 1;
    const value = `value ${this.#writeCount}`;
    const fault = await running.store.write(value);
    if (fault === null && running.leadership.mayAnswer()) this.#acknowledged.push(value);
  }

  async #read({ running }: SimulatedHost): Promise<void> {
    const expected = this.#acknowledged.at(-1);
    if (running === null || !running.leadership.mayAccept()) return;
    const seen = await running.store.read();
    if (seen === null || expected === undefined || !running.leadership.mayAnswer()) return;
    if (!seen.includes(expected)) this.#note(`a reply did not show ${expected}`);
  }
}

export const simulatePair = (seed: number): Promise<SimulationResult> =>
  new PairSimulation(seed).run();
