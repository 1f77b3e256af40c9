// One simulation run: a site on a simulated machine, with thousands of operations and faults
// between them. All randomness comes from the seed, so a run can be repeated exactly.
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { tryDamage } from "./damage-trial.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { SimulatedMachine } from "./simulated-machine.ts";
import {
  SimulationViolation,
  assertPromise,
  describeDifference,
  type SimulationPromise,
} from "./promises.ts";
import { checkAuditLog, readLastSum, readSnapshot, checkAuditChain } from "./audit-log-check.ts";
import { serializeState } from "./reference-model.ts";
import { SIMULATED_FOLDER } from "./simulated-server.ts";

/** How a turn ends, in percent. */
const TURN_ENDS = { nothing: 96, cut: 1.6, kill: 1.2, stop: 0.7, "kill and cut": 0.5 } as const;

/** After this many turns with free space, each with a timer tick, the store must accept changes. */
const MAX_TICKS = 30;

export class SimulationRun {
  readonly machine: SimulatedMachine;
  /** Turns until the disk has space again; 0: it has space. */
  #fullTurnsLeft = 0;
  /** Turns with free space in which the store still refused changes. */
  #turnsWithSpace = 0;
  /** False if an interrupted first start may have left no previous generation. */
  #hasGeneration = true;
  /** Whether no more faults are injected. */
  #isFaultFree = false;

  constructor(seed: number) {
    this.machine = new SimulatedMachine(seed);
  }

  /** Throws a `SimulationViolation` if a promise is broken. */
  async run(operations: number): Promise<void> {
    const { time, figures } = this.machine;
    time.replaceGlobals();
    await this.#start();
    while (figures.operations < operations) await this.#turn();
    await this.#finish();
  }

  /** How far the run is, for the message of a violation. */
  get progressText(): string {
    const { operations, cuts, kills, stops, starts } = this.machine.figures;
    const { promisedSeq, syncedSeq, head } = this.machine.reference;
    return `at operation ${operations}, start ${starts}, after ${cuts} power cuts, ${kills} kills, ${stops} stops; line ${promisedSeq} is the last answered, ${syncedSeq} the last synced, ${head.seq} the last decided`;
  }

  /** Records an uncaught error as a violation. */
  recordUncaught(error: unknown): void {
    this.machine.server.violation ??= new SimulationViolation(
      "answers",
      `uncaught error: ${String(error)}`,
    );
  }

  async #turn(): Promise<void> {
    const { random, server, time, disk } = this.machine;
    this.#letTimePass();
    this.#injectFaults();
    for (let count = random.pick([1, 3, 10, 20, 30, 50]); count > 0; count -= 1) {
      if (random.chance(0.15)) server.sendRead();
      else server.sendCommand(random.chance(0.000_3));
    }
    if (this.machine.isRefusingChanges || random.chance(0.06)) time.fireIntervals();
    // Like the store's own timer: no checkpoint while changes are refused.
    if (random.chance(0.06) && this.#acceptsChanges) void server.store.checkpoint();
    await this.machine.runPending();
    while (this.machine.isUp && disk.pendingSyncs.length > 0 && random.chance(0.8)) {
      disk.finishOneSync();
      await this.machine.runPending();
    }
    await this.#finishTurn(random.pickWeighted(TURN_ENDS));
  }

  async #finishTurn(end: keyof typeof TURN_ENDS): Promise<void> {
    const { faultInjector, server, random, isUp } = this.machine;
    if (isUp && server.hasFailed && random.chance(0.5)) faultInjector.killServer();
    else if (isUp && end === "nothing") return;
    else if (isUp && end === "stop") return this.#stop();
    else if (isUp && end === "cut") faultInjector.cutPower();
    else if (isUp) faultInjector.killServer();
    if (end === "kill and cut") faultInjector.cutPower();
    await this.#goDown();
    await this.#start();
  }

  #letTimePass(): void {
    const { random, time, figures } = this.machine;
    const units = { none: 0, seconds: SECOND, minutes: MINUTE, hours: HOUR, days: DAY };
    const unit = random.pickWeighted({ none: 20, seconds: 60, minutes: 15, hours: 3, days: 1 });
    time.advance(units[unit] * random.intBetween(1, 20));
    if (!random.chance(0.02)) return;
    figures.jumps += 1;
    const jump = random.pick([HOUR, 20 * HOUR, 3 * DAY, 40 * DAY, 500 * DAY]);
    // Half of the jumps set the clock to the true time.
    if (random.chance(0.5)) time.wall = Math.floor(time.trueNow);
    else time.wall += random.chance(0.5) ? jump : -jump;
  }

  #injectFaults(): void {
    const { random, faultInjector, disk, figures, isRefusingChanges } = this.machine;
    if (random.chance(0.03)) {
      const fault = random.pickWeighted({ EIO: 4, cut: 3, kill: 3, "kill checkpoint": 2 });
      faultInjector.arm(fault, random.pick([3, 12, 60]));
    }
    if (this.#fullTurnsLeft > 1) this.#fullTurnsLeft -= 1;
    else if (this.#fullTurnsLeft === 1) this.#freeDisk();
    else if (random.chance(0.015)) {
      figures.full += 1;
      this.#fullTurnsLeft = random.intBetween(2, 10);
      disk.freeBytes = random.intBelow(20_000);
    }
    this.#turnsWithSpace =
      isRefusingChanges && this.#fullTurnsLeft === 0 ? this.#turnsWithSpace + 1 : 0;
    assertPromise(
      "disk space",
      this.#turnsWithSpace < MAX_TICKS,
      () => `changes are still refused ${MAX_TICKS} ticks after the disk has space`,
    );
  }

  #freeDisk(): void {
    this.#fullTurnsLeft = 0;
    this.machine.disk.freeBytes = Infinity;
  }

  async #start(): Promise<void> {
    const { random, disk, faultInjector, figures } = this.machine;
    for (;;) {
      const diskCopy = random.chance(0.5) ? disk.clone() : null;
      if (!this.#isFaultFree && random.chance(0.12)) {
        faultInjector.arm(random.pick(["EIO", "cut", "kill"]), random.pick([4, 30]));
      }
      figures.starts += 1;
      this.machine.server = this.machine.newServer();
      this.machine.isRefusingChanges = false;
      const opened = await this.machine.runUntilDone(this.machine.server.open());
      if (opened === "done") return this.#checkStart(diskCopy);
      figures.startsCutShort += 1;
      if (opened === "down") await this.#goDown();
      else this.#allowInjectedError("starts", opened);
    }
  }

  /** Accepts an error that an injected fault or a full disk caused, and ends the process. */
  #allowInjectedError(promise: SimulationPromise, error: Error): void {
    const { disk, faultInjector, time } = this.machine;
    const isDiskFull = errorCode(error) === "ENOSPC" && disk.freeBytes < Infinity;
    assertPromise(promise, isDiskFull || faultInjector.isInjectedError(error), () => String(error));
    disk.killAll("server");
    time.clearTimers();
    this.#freeDisk();
  }

  /** A start must find every promised line, and after it only decided lines. */
  async #checkStart(diskCopy: SimulatedDisk | null): Promise<void> {
    const { reference, server, figures, disk, time } = this.machine;
    const { seq, notes } = server.store.status();
    this.machine.trace(`start ${figures.starts}: ${seq}\n`);
    figures.tornTails += notes.length;
    if (reference.head.seq === 0) {
      reference.create(server.store.peek(({ createdAt }) => createdAt));
      this.#hasGeneration = figures.starts === 1;
    }
    assertPromise(
      "kept",
      seq >= reference.promisedSeq,
      () =>
        `the last line after the start is ${seq}, but line ${reference.promisedSeq} was answered`,
    );
    const isDecided = reference.tryMoveTo(seq, readLastSum(disk, SIMULATED_FOLDER));
    assertPromise(
      "kept",
      isDecided,
      () => `the last line after the start, ${seq}, was never decided`,
    );
    reference.syncedSeq = seq;
    this.machine.lastWrittenSeq = seq;
    const [found, expected] = [server.store.peek(serializeState), serializeState(reference.state)];
    assertPromise("kept", found === expected, () => describeDifference(found, expected));
    figures.auditLogBytes += checkAuditLog(disk, SIMULATED_FOLDER, reference);
    // Before the first answer there is nothing to damage.
    if (diskCopy !== null && seq > 1) await time.runWithOwnTimers(() => this.#damage(diskCopy));
  }

  #damage(disk: SimulatedDisk): Promise<void> {
    const { reference, random, figures } = this.machine;
    return tryDamage({
      disk,
      folder: SIMULATED_FOLDER,
      reference,
      random,
      figures,
      open: () => this.machine.newServer().open(disk),
      hasGeneration: this.#hasGeneration,
    });
  }

  /** Handles the end of the server: pending syncs may finish, then its checkpoint ends too. */
  async #goDown(): Promise<void> {
    const { server, time, random, disk, faultInjector } = this.machine;
    server.isGone = true;
    time.clearTimers();
    for (let steps = random.intBelow(8); steps > 0 && disk.pendingSyncs.length > 0; steps -= 1) {
      disk.finishOneSync();
      await time.runPending();
    }
    if (random.chance(0.2)) faultInjector.cutPower();
    disk.killAll("checkpoint");
    faultInjector.reset();
    if (this.#isFaultFree || random.chance(0.7)) this.#freeDisk();
    time.advance(random.intBelow(20) * SECOND);
  }

  async #stop(): Promise<void> {
    const { server, figures, disk } = this.machine;
    const closed = await this.machine.runUntilDone(server.store.close());
    if (closed instanceof Error) this.#allowInjectedError("stopped", closed);
    if (closed === "done") this.#checkStopped();
    figures.stops += 1;
    disk.killAll("server");
    await this.#goDown();
    await this.#start();
  }

  /** After a clean stop `state.json` must contain every line. */
  #checkStopped(): void {
    const { reference, disk } = this.machine;
    const { waitingCount, store, hasFailed } = this.machine.server;
    assertPromise(
      "answers",
      waitingCount === 0,
      () => `${waitingCount} calls have no answer after a stop`,
    );
    const { fault, checkpointError } = store.status();
    if (fault !== null || checkpointError !== null || hasFailed) return;
    const { covers } = readSnapshot(disk, SIMULATED_FOLDER);
    const { seq } = reference.head;
    assertPromise(
      "stopped",
      covers.seq === seq,
      () => `state.json covers line ${covers.seq}, expected ${seq}`,
    );
    reference.promiseUpTo(seq);
  }

  /** Ends the run without faults: every call must be answered and every change be there. */
  async #finish(): Promise<void> {
    const { faultInjector, time, disk, reference } = this.machine;
    this.#isFaultFree = true;
    faultInjector.reset();
    this.#freeDisk();
    for (let ticks = 0; ticks === 0 || !this.#acceptsChanges; ticks += 1) {
      assertPromise(
        "disk space",
        ticks < MAX_TICKS,
        () => "changes are still refused although the disk has no more faults",
      );
      if (this.machine.server.hasFailed) {
        faultInjector.killServer();
        await this.#goDown();
        await this.#start();
      }
      time.fireIntervals();
      await this.machine.runPending();
      while (disk.pendingSyncs.length > 0) {
        disk.finishOneSync();
        await this.machine.runPending();
      }
    }
    const { waitingCount } = this.machine.server;
    assertPromise("answers", waitingCount === 0, () => `${waitingCount} calls never get an answer`);
    await this.#stop();
    checkAuditChain(reference.auditLogUpTo(reference.head.auditSeq) ?? new Uint8Array());
  }

  get #acceptsChanges(): boolean {
    return this.machine.server.store.status().fault === null;
  }
}
