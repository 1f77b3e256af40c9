// One sequence of actions of two hosts, from a pair in which alpha leads and beta follows. Nothing
// is copied: each sequence is run from the start.
import { demand } from "../search.ts";
import { SimulatedLog } from "../../support/simulated-log.ts";
import type { SimulatedDisk } from "../../faults/simulation/simulated-disk.ts";
import { settle, type Statement } from "./held-log.ts";
import { makePairKey } from "./pair-key.ts";
import { PairProcess, type PairEnvironment } from "./pair-process.ts";
import { HOSTS, type PreparedDisk } from "./prepared-disk.ts";

/** Long enough to make a renewal due, and as long as a term. */
const PASSING_SECONDS = [3, 10];

interface LateStatement {
  readonly host: string;
  readonly statement: Statement;
}

type Perform = () => void | Promise<void>;

export class PairRun {
  readonly #environment: PairEnvironment;
  readonly #disks: ReadonlyMap<string, SimulatedDisk>;
  readonly #processes = new Map<string, PairProcess>();
  #late: LateStatement[] = [];
  #processCount = 0;
  #userCount = 0;
  /** Users who were told that they have a slot. */
  readonly #granted: string[] = [];
  readonly #leaders = new Map<number, string>();
  #broken: unknown = null;

  private constructor({ disk, end }: PreparedDisk) {
    this.#environment = { log: new SimulatedLog(end), now: 0 };
    this.#disks = new Map(
      HOSTS.map((host) => {
        const copy = disk.clone();
        copy.holdsSyncs = false;
        return [host, copy];
      }),
    );
  }

  static async start(prepared: PreparedDisk): Promise<PairRun> {
    const run = new PairRun(prepared);
    for (const host of HOSTS) await run.#startProcess(host);
    for (const host of HOSTS) {
      const process = run.#processOf(host);
      process.step();
      await run.#finish(process);
    }
    return run;
  }

  async perform(action: string): Promise<void> {
    const perform = this.#findActions().get(action);
    if (perform === undefined) throw new Error(`not possible now: ${action}`);
    await perform();
    await settle();
    if (this.#broken !== null) throw this.#broken;
    this.#check();
  }

  /** Everything that can happen next. */
  listActions(): readonly string[] {
    return [...this.#findActions().keys()];
  }

  #findActions(): ReadonlyMap<string, Perform> {
    const actions = new Map<string, Perform>();
    for (const seconds of PASSING_SECONDS)
      actions.set(`${seconds} seconds pass`, () => {
        this.#environment.now += seconds * 1_000;
        this.#environment.log.now = this.#environment.now;
      });
    for (const process of this.#processes.values()) this.#addActionsOf(process, actions);
    for (const late of this.#late)
      actions.set(`${late.statement.name} of ${late.host} reaches the log late`, () => {
        this.#late = this.#late.filter((other) => other !== late);
        return late.statement.perform();
      });
    return actions;
  }

  #addActionsOf(process: PairProcess, actions: Map<string, Perform>): void {
    const { host, leadership, statements } = process;
    const begin = (name: string, work: () => void): void => {
      actions.set(`${host} ${name}`, async () => {
        work();
        await this.#finish(process);
      });
      actions.set(`${host} ${name}, up to its first statement`, work);
    };
    if (process.stepReplies === null) begin("looks at the log", () => process.step());
    if (!process.isWriting && leadership.mayAccept())
      begin("registers a user", () => this.#write(process));
    if (process.readShowsAll === null && leadership.mayAccept())
      actions.set(`${host} is read`, () => this.#read(process));
    if (leadership.status().role === "leader" && !leadership.mayAnswer())
      actions.set(`${host} notices that its term is over`, () => leadership.checkTerm());
    if (statements.pending.length > 0)
      actions.set(`${host} goes on undisturbed`, () => this.#finish(process));
    for (const statement of statements.pending) this.#addActionsOn(statement, process, actions);
    actions.set(`${host} is killed, and starts again`, () => this.#startProcess(host));
  }

  #addActionsOn(statement: Statement, process: PairProcess, actions: Map<string, Perform>): void {
    const { host } = process;
    const name = `${statement.name} of ${host}`;
    actions.set(`${name} is answered`, () => process.answer(statement));
    if (statement.isPerformed) {
      actions.set(`the reply to ${name} is lost`, () => process.giveUp(statement));
      return;
    }
    actions.set(`${name} is performed, and its reply is on the way`, () => statement.perform());
    actions.set(`${name} is lost`, () => {
      if (statement.isWrite) this.#late.push({ host, statement });
      process.giveUp(statement);
    });
    if (statement.isWrite)
      actions.set(`${name} is performed, and its reply is lost`, async () => {
        await statement.perform();
        process.giveUp(statement);
      });
  }

  /** Nothing disturbs the process: the log answers at once. */
  async #finish(process: PairProcess): Promise<void> {
    const { statements } = process;
    await settle();
    for (let [next] = statements.pending; next !== undefined; [next] = statements.pending) {
      await process.answer(next);
      await settle();
    }
  }

  async #startProcess(host: string): Promise<void> {
    const disk = this.#disks.get(host);
    if (disk === undefined) throw new Error(`there is no disk of ${host}`);
    const before = this.#processes.get(host);
    for (const statement of before?.statements.pending ?? [])
      if (statement.isWrite && !statement.isPerformed) this.#late.push({ host, statement });
    disk.killAll("server");
    this.#processCount += 1;
    this.#processes.set(
      host,
      await PairProcess.start(host, this.#processCount, disk, this.#environment),
    );
  }

  #processOf(host: string): PairProcess {
    const process = this.#processes.get(host);
    if (process === undefined) throw new Error(`${host} does not run`);
    return process;
  }

  #write(process: PairProcess): void {
    this.#userCount += 1;
    const user = `user ${this.#userCount}`;
    process.write(user, () => {
      if (this.#processes.get(process.host) !== process) return;
      this.#keepBroken(() => this.#checkGrant(process, user));
    });
  }

  #read(process: PairProcess): void {
    process.read([...this.#granted], (missing) => {
      if (this.#processes.get(process.host) !== process) return;
      this.#keepBroken(() =>
        demand(
          missing === undefined,
          () => `a read is stale: ${process.host} does not show ${missing}, who has a slot`,
        ),
      );
    });
  }

  /** A reply is a callback: what it breaks is thrown after the action. */
  #keepBroken(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#broken ??= error;
    }
  }

  #checkGrant({ host, leadership }: PairProcess, user: string): void {
    const { log, now } = this.#environment;
    this.#granted.push(user);
    const { epoch } = leadership.status();
    const isOwn = log.leader.holder === host && log.leader.epoch === epoch;
    demand(
      isOwn && now < log.until,
      () => `a grant after the end of a term: ${host} grants ${user} a slot`,
    );
  }

  #check(): void {
    const leading = [...this.#processes.values()].filter(({ leadership }) =>
      leadership.mayAnswer(),
    );
    demand(leading.length < 2, () => "two hosts answer at the same time");
    for (const { instance, leadership } of leading) {
      const epoch = leadership.status().epoch ?? NaN;
      const known = this.#leaders.get(epoch) ?? instance;
      demand(known === instance, () => `two hosts lead with epoch ${epoch}`);
      this.#leaders.set(epoch, instance);
    }
    const texts = this.#environment.log.lines.map(({ text }) => text).join("");
    const lost = this.#granted.find((user) => !texts.includes(`"${user}"`));
    demand(
      lost === undefined,
      () => `an acknowledged change is not in the log: the slot of ${lost}`,
    );
    for (const { host, store } of this.#processes.values()) {
      const { followProblem, fault } = store.status();
      demand(
        followProblem === null,
        () => `${host} cannot follow the log: ${JSON.stringify(followProblem)}`,
      );
      demand(fault?.code !== "storage_failed", () => `the store of ${host} failed`);
    }
  }

  get key(): string {
    const isAcknowledged = (text: string): boolean =>
      this.#granted.some((user) => text.includes(`"${user}"`));
    const { log, now } = this.#environment;
    const processes = [...this.#processes.values()];
    return makePairKey({ log, now, processes, late: this.#late, isAcknowledged });
  }
}
