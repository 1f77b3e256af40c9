import type { Command, OutcomeOf } from "../../../src/domain/decide.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { instant, latest } from "../../../src/domain/time.ts";
import { ApplianceClock } from "../../../src/platform/clock.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import type { ChainHead } from "../../../src/store/journal/journal.ts";
import { Store } from "../../../src/store/store.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { randomCommand } from "../../support/random-commands.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import type { TrueLeases } from "./true-leases.ts";
import {
  SimulationViolation,
  describeDifference,
  isSameHead,
  type SimulationFigures,
  type SimulationPromise,
} from "./promises.ts";
import { serializeState, type ReferenceModel } from "./reference-model.ts";
import { contextAt } from "../../support/rule-context.ts";
import type { RuleContext } from "../../../src/domain/model/rule-context.ts";

export const SIMULATED_FOLDER = "/srv/data";

export interface ServerEnvironment {
  readonly disk: SimulatedDisk;
  readonly reference: ReferenceModel;
  readonly random: SeededRandom;
  readonly figures: SimulationFigures;
  readonly leases: TrueLeases;
  readonly trueNow: () => number;
  readonly trace: (text: string) => void;
}

type StoreAnswer = Awaited<ReturnType<Store["transact"]>>;
type ReferenceDecision = ReturnType<ReferenceModel["decide"]>;

/** A server from its start to its end. Sends calls to it and checks the answers. */
export class SimulatedServer {
  readonly #environment: ServerEnvironment;
  readonly #clock = new ApplianceClock();
  #store: Store | null = null;
  /** Number of calls without an answer. */
  waitingCount = 0;
  /** Whether the store reported a fatal error. */
  hasFailed = false;
  /** Whether the server was killed; later answers are ignored. */
  isGone = false;
  /** The first violation found in an answer. */
  violation: SimulationViolation | null = null;
  /** The time that the store's clock last returned. */
  #now = instant(0);
  #behind = 0;

  constructor(environment: ServerEnvironment) {
    this.#environment = environment;
  }

  get isOpen(): boolean {
    return this.#store !== null;
  }

  get store(): Store {
    if (this.#store === null) throw new Error("the server has not started");
    return this.#store;
  }

  async open(disk: SimulatedDisk = this.#environment.disk): Promise<Store> {
    this.#store = await Store.open({
      disk: disk.startProcess("server"),
      folder: SIMULATED_FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      clock: (mark, jumps) => {
        const now = this.#clock.now(mark, jumps);
        this.#now = latest(now, mark);
        return now;
      },
      jumps: this.#clock.jumps,
      behind: (now) => {
        this.#behind = this.#clock.behind(now);
        return this.#behind;
      },
      checkpoint: (folder, open) => this.#checkpoint(disk, folder, open),
      onFatal: () => {
        this.hasFailed = true;
      },
    });
    return this.#store;
  }

  async #checkpoint(disk: SimulatedDisk, folder: string, open: number): Promise<void> {
    const child = disk.startProcess("checkpoint");
    const { figures } = this.#environment;
    try {
      await checkpoint(child, folder, open);
      figures.checkpoints += 1;
    } catch (error) {
      figures.checkpointsFailed += 1;
      throw error;
    } finally {
      disk.kill(child);
    }
  }

  /** Sends a random command; the reference decides it at the same time as the store. */
  sendCommand(throwsInView: boolean): void {
    const { reference, random, figures, leases } = this.#environment;
    figures.operations += 1;
    const operationNumber = figures.operations;
    let decision: ReferenceDecision | null = null;
    let seq = 0;
    let nextSlot = 0;
    let lease: ReturnType<TrueLeases["recordDecision"]> = null;
    const trueNow = this.#environment.trueNow();
    const makeCommand = (head: ChainHead): Command => {
      this.#recordJumps();
      this.#compareHead(head);
      const { state } = reference;
      const times = { at: this.#now, trueNow: instant(Math.floor(trueNow)) };
      const command = randomCommand({ random, state, head, operationNumber, ...times });
      leases.endLeasesFor(command);
      ({ nextSlot } = state);
      if (affectsAllLicenses(command))
        reference.orderLicenses(this.store.peek(({ licenses }) => licenses));
      decision = reference.decide(command, this.#context);
      seq = reference.head.seq;
      return command;
    };
    const view = (state: State, outcome: OutcomeOf<Command>, { at }: RuleContext): unknown => {
      if (at !== this.#now)
        this.#recordViolation(
          "answers",
          `the store decided at ${at}, but its clock said ${this.#now}`,
        );
      if (throwsInView) throw new Error(INJECTED_ERROR);
      // As the server does after a vendor's clock document.
      if (state.latestEventAt < at) this.#clock.setTo(state.latestEventAt);
      lease = leases.recordDecision(state, outcome, nextSlot, at, trueNow);
      return outcome;
    };
    this.#awaitAnswer(this.store.transact(makeCommand, view), (answer) => {
      if (isStorageFault(answer)) figures.failed += 1;
      else this.#compare(answer, decision, seq);
      const violation = answer.ok && lease !== null ? leases.recordAnswer(lease) : null;
      figures.leases = leases.grantedCount;
      if (violation !== null) this.#recordViolation("leases", violation);
    });
  }

  get #context(): RuleContext {
    return contextAt(this.#now, { clockBehind: this.#behind });
  }

  /** Adds clock jumps to the reference, as the store does before the next command. */
  #recordJumps(): void {
    const { reference } = this.#environment;
    const lastJumpAt = reference.state.clockJumps.at(-1)?.to ?? 0;
    for (const jump of this.#clock.jumps()) {
      if (jump.to > lastJumpAt) reference.decide({ type: "JumpClock", ...jump }, this.#context);
    }
  }

  /** Sends a read. What it showed must be durable, like an acknowledged change. */
  sendRead(): void {
    const { reference, figures, random } = this.#environment;
    figures.operations += 1;
    let seq = 0;
    const license = random.intBetween(1, 8);
    const summarize = random.chance(0.01)
      ? serializeState
      : (state: State) => summarizeState(state, license);
    const read = this.store.read((state) => {
      seq = reference.head.seq;
      const [found, expected] = [summarize(state), summarize(reference.state)];
      if (found !== expected)
        this.#recordViolation("hidden", `line ${seq}: ${describeDifference(found, expected)}`);
      return found;
    });
    this.#awaitAnswer(read, (answer) => {
      if (isStorageFault(answer)) {
        figures.failed += 1;
        return;
      }
      reference.promiseUpTo(seq);
      figures.reads += 1;
    });
  }

  #compare(answer: StoreAnswer, decision: ReferenceDecision | null, seq: number): void {
    const { reference, figures } = this.#environment;
    const expected = decision?.ok === true ? decision.value.outcome : decision?.fault;
    const found = answer.ok ? answer.value : answer.fault;
    if (answer.ok !== decision?.ok || !Bun.deepEquals(found, expected)) {
      this.#recordViolation(
        "answers",
        `at line ${seq}: answered ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
      );
    }
    reference.promiseUpTo(seq);
    figures[answer.ok ? "done" : "refused"] += 1;
  }

  #awaitAnswer(answering: Promise<StoreAnswer>, handle: (answer: StoreAnswer) => void): void {
    this.waitingCount += 1;
    const operationNumber = this.#environment.figures.operations;
    answering.then(
      (answer) => {
        if (this.isGone) return;
        this.waitingCount -= 1;
        this.#environment.trace(`${operationNumber} ${answer.ok ? "ok" : answer.fault.code}\n`);
        handle(answer);
      },
      (error: unknown) => {
        if (this.isGone) return;
        this.waitingCount -= 1;
        this.#environment.figures.failed += 1;
        const isInjected = error instanceof Error && error.message === INJECTED_ERROR;
        if (!isInjected)
          this.#recordViolation("answers", `operation ${operationNumber} threw ${String(error)}`);
      },
    );
  }

  #compareHead(head: ChainHead): void {
    const expected = this.#environment.reference.head;
    if (isSameHead(head, expected)) return;
    this.#recordViolation(
      "hidden",
      `the last line is ${JSON.stringify(head)}, expected ${JSON.stringify(expected)}`,
    );
  }

  #recordViolation(promise: SimulationPromise, message: string): void {
    if (!this.isGone) this.violation ??= new SimulationViolation(promise, message);
  }
}

const INJECTED_ERROR = "injected by the simulation";

/** Whether a command goes through all licenses, in their order since the last start. */
const affectsAllLicenses = ({ type }: Command): boolean =>
  type === "UnregisterAll" || type === "FeatureReleaseAll" || type === "SettleExpiries";

const isStorageFault = (answer: StoreAnswer): boolean =>
  !answer.ok && answer.fault.code.startsWith("storage_");

/** A summary of the state that is cheap enough for every read. */
function summarizeState(state: State, id: number): string {
  const license = state.licenses.get(id);
  const { latestEventAt, nextSlot, requests, idempotencyRecords, refusals } = state;
  const sizes = [state.licenses.size, requests.size, idempotencyRecords.size, refusals.size].join(
    " ",
  );
  const licenseFigures = `${license?.counter.total} ${license?.pool.size} ${license?.grant.serial}`;
  return `${latestEventAt} ${nextSlot} ${sizes} ${licenseFigures}`;
}
