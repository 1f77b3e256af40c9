// One process of a host of the pair: the real store on a simulated disk, and the real leadership.
import { Leadership } from "../../../src/operations/pair/leadership.ts";
import type { HostLog } from "../../../src/store/log/shared-log.ts";
import { Store } from "../../../src/store/store.ts";
import { transactCommand } from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";
import type { SimulatedLog } from "../../support/simulated-log.ts";
import type { SimulatedDisk } from "../../faults/simulation/simulated-disk.ts";
import { HeldStatements, isLeaderRow, type Statement } from "./held-log.ts";
import { storeOptions } from "./prepared-disk.ts";

/** How long a host leads after a renewal (milliseconds). */
export const TERM = 10_000;

/** What both hosts and the search share. */
export interface PairEnvironment {
  readonly log: SimulatedLog;
  now: number;
}

/** The term that a host read last, and since when it knows it. */
interface SeenTerm {
  readonly term: string;
  readonly since: number;
}

interface StepReply {
  readonly name: string;
  readonly text: string;
  readonly sentAt: number;
}

export class PairProcess {
  readonly host: string;
  /** Tells it from earlier processes of the host. */
  readonly instance: string;
  readonly statements: HeldStatements;
  readonly store: Store;
  readonly leadership: Leadership;
  readonly #environment: PairEnvironment;
  /** Added to the clock of the leadership, to see how long it may answer. */
  #clockOffset = 0;
  /** What the log answered to the step under way; null: none is. */
  stepReplies: StepReply[] | null = null;
  isWriting = false;
  /** Whether a read under way shows everything that it must show; null: there is none. */
  readShowsAll: boolean | null = null;
  seenTerm: SeenTerm | null = null;
  /** When the last attempt to lead failed. */
  failedAt = -Infinity;

  private constructor(
    instance: string,
    host: string,
    environment: PairEnvironment,
    statements: HeldStatements,
    log: HostLog,
    store: Store,
  ) {
    this.instance = instance;
    this.host = host;
    this.#environment = environment;
    this.statements = statements;
    this.store = store;
    this.leadership = new Leadership({
      store,
      log,
      host,
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
      url: null,
      version: "1.0.0",
      termMs: TERM,
      pollMs: 1_000,
      bootMs: () => environment.now + this.#clockOffset,
      systemTime: () => environment.now,
      sleep: async () => {},
    });
  }

  static async start(
    host: string,
    number: number,
    disk: SimulatedDisk,
    environment: PairEnvironment,
  ): Promise<PairProcess> {
    const instance = `${host} ${number}`;
    const shared = environment.log.connect(host, instance);
    const statements = new HeldStatements(shared, () => environment.now);
    const log = statements.connect();
    const opening = Store.open({ ...storeOptions(disk), openLog: async () => log });
    const store = await statements.answerUntilDone(opening);
    return new PairProcess(instance, host, environment, statements, log, store);
  }

  /** What the leadership learns of the log, as far as it does not show it. */
  #note({ name, result, sentAt }: Statement, isLost: boolean): void {
    if (this.stepReplies === null) return;
    const hasClaimed = this.stepReplies.some((reply) => reply.name === "claim");
    const { now } = this.#environment;
    if (hasClaimed && (isLost || result === false)) this.failedAt = now;
    else if (name === "readLeader" && !hasClaimed && !isLost && isLeaderRow(result)) {
      if (result.term !== this.seenTerm?.term) this.seenTerm = { term: result.term, since: now };
    }
    this.stepReplies.push({ name, text: isLost ? "lost" : describeResult(result), sentAt });
  }

  /** Performs the statement, if that was not done, and delivers the reply. */
  async answer(statement: Statement): Promise<void> {
    if (!statement.isPerformed) await statement.perform();
    this.#note(statement, false);
    this.statements.deliver(statement);
  }

  /** The process gives up the statement, whether or not the log performed it. */
  giveUp(statement: Statement): void {
    this.#note(statement, true);
    this.statements.giveUp(statement);
  }

  step(): void {
    this.stepReplies = [];
    void this.leadership.step().then(() => {
      this.stepReplies = null;
    });
  }

  /** Registers a user; `onGrant` is called if the reply says that the user has a slot. */
  write(user: string, onGrant: () => void): void {
    this.isWriting = true;
    void transactCommand(this.store, register(user)).then((result) => {
      this.isWriting = false;
      if (result.ok && this.leadership.mayAnswer()) onGrant();
    });
  }

  /** Reads who has a slot; `onReply` is called with the first of these users who is not shown. */
  read(expected: readonly string[], onReply: (missing: string | undefined) => void): void {
    this.readShowsAll = true;
    void this.store
      .read(({ licenses }) => {
        const pool = licenses.get(1)?.pool;
        const missing = expected.find((user) => pool?.get(user) === undefined);
        this.readShowsAll = missing === undefined;
        return missing;
      })
      .then((result) => {
        this.readShowsAll = null;
        if (result.ok && this.leadership.mayAnswer()) onReply(result.value);
      });
  }

  /** For how many more milliseconds the host may answer; it is asked with a later clock. */
  get answersFor(): number {
    let milliseconds = 0;
    while (milliseconds < 2 * TERM && this.#mayAnswerIn(milliseconds)) milliseconds += 500;
    return milliseconds;
  }

  #mayAnswerIn(milliseconds: number): boolean {
    this.#clockOffset = milliseconds;
    try {
      return this.leadership.mayAnswer();
    } finally {
      this.#clockOffset = 0;
    }
  }
}

const describeResult = (result: unknown): string =>
  Array.isArray(result) ? `${result.length} lines` : JSON.stringify(result);
