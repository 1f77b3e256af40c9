// The shared log as one process of a host sees it: every statement waits until the search performs
// it, and again until the search delivers its reply.
import { LogUnavailable, type HostLog, type LogLeader } from "../../../src/store/log/shared-log.ts";
import type { SimulatedHostLog } from "../../support/simulated-log.ts";

/** Statements that change the log: they may be performed after their sender gave up. */
const WRITES: ReadonlySet<string> = new Set(["append", "claim", "renew", "release"]);

export class Statement {
  readonly name: string;
  /** What the log decides it by, as it was sent. */
  readonly facts: string;
  readonly sentAt: number;
  readonly #perform: () => Promise<unknown>;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: Error) => void;
  /** The log performed it, and its reply is on the way. */
  isPerformed = false;
  result: unknown;

  constructor(
    sent: Pick<Statement, "name" | "facts" | "sentAt">,
    perform: () => Promise<unknown>,
    { resolve, reject }: Pick<PromiseWithResolvers<unknown>, "resolve" | "reject">,
  ) {
    ({ name: this.name, facts: this.facts, sentAt: this.sentAt } = sent);
    this.#perform = perform;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get isWrite(): boolean {
    return WRITES.has(this.name);
  }

  async perform(): Promise<void> {
    this.result = await this.#perform();
    this.isPerformed = true;
  }

  deliver(): void {
    this.#resolve(this.result);
  }

  giveUp(): void {
    this.#reject(new LogUnavailable("the log did not answer in time"));
  }
}

/** The statements of one process that the log has not answered. */
export class HeldStatements {
  readonly #log: SimulatedHostLog;
  readonly #now: () => number;
  pending: Statement[] = [];

  constructor(log: SimulatedHostLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  deliver(statement: Statement): void {
    this.#remove(statement);
    statement.deliver();
  }

  /** Answers every statement until the work is done. */
  async answerUntilDone<T>(work: Promise<T>): Promise<T> {
    for (;;) {
      const isDone = await Promise.race([work.then(() => true), settle().then(() => false)]);
      if (isDone) return work;
      for (const statement of this.pending) {
        await statement.perform();
        this.deliver(statement);
      }
    }
  }

  giveUp(statement: Statement): void {
    this.#remove(statement);
    statement.giveUp();
  }

  #remove(statement: Statement): void {
    this.pending = this.pending.filter((other) => other !== statement);
  }

  #send<T>(name: string, facts: string, perform: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const sent = { name, facts, sentAt: this.#now() };
    this.pending.push(new Statement(sent, perform, { resolve, reject }));
    return promise as Promise<T>;
  }

  connect(): HostLog {
    const log = this.#log;
    return {
      id: log.id,
      readLeader: () => this.#send("readLeader", "", () => log.readLeader()),
      readLines: (after, limit) =>
        this.#send("readLines", `${after},${limit}`, () => log.readLines(after, limit)),
      append: (epoch, batch) =>
        this.#send("append", `${epoch},${batch.prev},${batch.sum}`, () => log.append(epoch, batch)),
      claimTerm: (termMs, endedTerm) =>
        this.#send("claim", endedTerm ?? "", () => log.claimTerm(termMs, endedTerm)),
      renew: (epoch, termMs) => this.#send("renew", `${epoch}`, () => log.renew(epoch, termMs)),
      release: (epoch, successor, successorMs) =>
        this.#send("release", `${epoch}`, () => log.release(epoch, successor, successorMs)),
      acceptEarlierServer: () => {},
      // They decide nothing, and are not sent here.
      reportHost: (report) => log.reportHost(report),
      readHosts: () => log.readHosts(),
      removeHost: (host) => log.removeHost(host),
      trim: (upTo, minAgeMs, limit) => log.trim(upTo, minAgeMs, limit),
      readFileVersions: () => log.readFileVersions(),
      readFile: (name) => log.readFile(name),
      writeFile: (epoch, name, content) => log.writeFile(epoch, name, content),
      readDatabase: () => log.readDatabase(),
    };
  }
}

/** Everything that can go on without a reply of the log does. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

export const isLeaderRow = (value: unknown): value is LogLeader =>
  typeof value === "object" && value !== null && "term" in value;
