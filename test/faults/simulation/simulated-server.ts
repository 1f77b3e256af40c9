import type { Command } from "../../../src/domain/command.ts";
import type { OutcomeOf } from "../../../src/domain/decide.ts";
import type { State } from "../../../src/domain/state.ts";
import { instant, latest, type Instant } from "../../../src/domain/time.ts";
import { ApplianceClock } from "../../../src/platform/clock.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import type { ChainHead } from "../../../src/store/journal.ts";
import { Store } from "../../../src/store/store.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { randomCommand } from "./random-commands.ts";
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

/** A server from its start to its end, and the ear of everybody who asks it something. */
export class SimulatedServer {
  readonly #around: ServerEnvironment;
  readonly #clock = new ApplianceClock();
  #store: Store | null = null;
  /** How many have no answer yet. */
  waitingCount = 0;
  /** The store said that its process must end. */
  hasFailed = false;
  /** From here on nobody hears what it says. */
  isGone = false;
  /** The first thing that was wrong with an answer. */
  violation: SimulationViolation | null = null;
  /** What the store was told the time is, at the last question. */
  #now = instant(0);
  #behind = 0;

  constructor(around: ServerEnvironment) {
    this.#around = around;
  }

  get isOpen(): boolean {
    return this.#store !== null;
  }

  get store(): Store {
    if (this.#store === null) throw new Error("the server has not started");
    return this.#store;
  }

  async open(disk: SimulatedDisk = this.#around.disk): Promise<Store> {
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
    const { figures } = this.#around;
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

  /** Somebody wants something. The rules decide beside the store, in the same instant. */
  sendCommand(isClumsy: boolean): void {
    const { reference, random, figures, leases } = this.#around;
    figures.operations += 1;
    const operationNumber = figures.operations;
    let decided: ReferenceDecision | null = null;
    let seq = 0;
    let nextSlot = 0;
    let lease: ReturnType<TrueLeases["recordDecision"]> = null;
    const trueNow = this.#around.trueNow();
    const asked = (head: ChainHead): Command => {
      this.#recordJumps();
      this.#compareHead(head);
      const { state } = reference;
      state.clockBehind = this.#behind;
      const known = { at: this.#now, trueNow: instant(Math.floor(trueNow)), operationNumber };
      const command = randomCommand({ random, state, head, ...known });
      leases.endLeasesFor(command);
      ({ nextSlot } = state);
      if (isForAll(command)) reference.orderLicenses(this.store.peek(({ licenses }) => licenses));
      decided = reference.decide(command, this.#now);
      seq = reference.head.seq;
      return command;
    };
    const view = (state: State, outcome: OutcomeOf<Command>, at: Instant): unknown => {
      if (at !== this.#now) this.#found("answers", `it is ${at} and not ${this.#now}`);
      if (isClumsy) throw new Error(CLUMSY);
      // As the server does after a vendor's word.
      if (state.latestEventAt < at) this.#clock.setTo(state.latestEventAt);
      lease = leases.recordDecision(state, outcome, nextSlot, at, trueNow);
      return outcome;
    };
    this.#heard(this.store.transact(asked, view), (answer) => {
      if (isStorageFault(answer)) figures.failed += 1;
      else this.#compare(answer, decided, seq);
      const wrong = answer.ok && lease !== null ? leases.recordAnswer(lease) : null;
      figures.leases = leases.grantedCount;
      if (wrong !== null) this.#found("leases", wrong);
    });
  }

  /** As the store does before the next command. */
  #recordJumps(): void {
    const { reference } = this.#around;
    const known = reference.state.clockJumps.at(-1)?.to ?? 0;
    for (const jump of this.#clock.jumps()) {
      if (jump.to > known) reference.decide({ type: "JumpClock", ...jump }, this.#now);
    }
  }

  /** Somebody looks. What they saw has to stay, just as what they did. */
  sendRead(): void {
    const { reference, figures, random } = this.#around;
    figures.operations += 1;
    let seq = 0;
    const license = random.intBetween(1, 8);
    const see = random.chance(0.01)
      ? serializeState
      : (state: State) => summarizeState(state, license);
    const read = this.store.read((state) => {
      seq = reference.head.seq;
      const [found, wanted] = [see(state), see(reference.state)];
      if (found !== wanted)
        this.#found("unseen", `line ${seq}: ${describeDifference(found, wanted)}`);
      return found;
    });
    this.#heard(read, (answer) => {
      if (isStorageFault(answer)) {
        figures.failed += 1;
        return;
      }
      reference.promiseUpTo(seq);
      figures.reads += 1;
    });
  }

  #compare(answer: StoreAnswer, decided: ReferenceDecision | null, seq: number): void {
    const { reference, figures } = this.#around;
    const wanted = decided?.ok === true ? decided.value.outcome : decided?.fault;
    const found = answer.ok ? answer.value : answer.fault;
    if (answer.ok !== decided?.ok || !Bun.deepEquals(found, wanted)) {
      this.#found(
        "answers",
        `at line ${seq}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`,
      );
    }
    reference.promiseUpTo(seq);
    figures[answer.ok ? "done" : "refused"] += 1;
  }

  #heard(answering: Promise<StoreAnswer>, hear: (answer: StoreAnswer) => void): void {
    this.waitingCount += 1;
    const number = this.#around.figures.operations;
    answering.then(
      (answer) => {
        if (this.isGone) return;
        this.waitingCount -= 1;
        this.#around.trace(`${number} ${answer.ok ? "ok" : answer.fault.code}\n`);
        hear(answer);
      },
      (error: unknown) => {
        if (this.isGone) return;
        this.waitingCount -= 1;
        this.#around.figures.failed += 1;
        const told = error instanceof Error && error.message === CLUMSY;
        if (!told) this.#found("answers", `question ${number} threw ${String(error)}`);
      },
    );
  }

  #compareHead(head: ChainHead): void {
    const wanted = this.#around.reference.head;
    if (isSameHead(head, wanted)) return;
    this.#found("unseen", `it stands at ${JSON.stringify(head)}, not ${JSON.stringify(wanted)}`);
  }

  #found(promise: SimulationPromise, what: string): void {
    if (!this.isGone) this.violation ??= new SimulationViolation(promise, what);
  }
}

const CLUMSY = "told to";

/** Goes through all licenses, in the order they are kept: which is what a start makes it. */
const isForAll = ({ type }: Command): boolean =>
  type === "UnregisterAll" || type === "ReleaseAllFeatures";

const isStorageFault = (answer: StoreAnswer): boolean =>
  !answer.ok && answer.fault.code.startsWith("storage_");

/** A little of everything, cheap enough for every read. */
function summarizeState(state: State, id: number): string {
  const license = state.licenses.get(id);
  const { latestEventAt, nextSlot, requests, idempotencyRecords, refusals } = state;
  const sizes = [state.licenses.size, requests.size, idempotencyRecords.size, refusals.size].join(
    " ",
  );
  const held = `${license?.counter.total} ${license?.pool.size} ${license?.grant.serial}`;
  return `${latestEventAt} ${nextSlot} ${sizes} ${held}`;
}
