// One life of a site on a simulated machine: thousands of operations, and everything that can go
// wrong in between. All chance comes from the seed, so a life can be lived again.
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { errorCode } from "../../../src/platform/disk.ts";
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

/** What happens at the end of a turn, in a hundred. */
const ENDS = { nothing: 96, cut: 1.6, kill: 1.2, stop: 0.7, "kill and cut": 0.5 } as const;

/** So many turns with room, a tick of the store's timer each, and it must have noticed. */
const PATIENCE = 30;

export class SimulationRun {
  readonly machine: SimulatedMachine;
  /** Turns until there is room again; 0: there is. */
  #fullFor = 0;
  /** Turns since then. */
  #roomFor = 0;
  /** A first start that was interrupted may have left no generation behind. */
  #hasGeneration = true;
  /** Nothing goes wrong any more. */
  #isCalm = false;

  constructor(seed: number) {
    this.machine = new SimulatedMachine(seed);
  }

  /** Lives it; throws Broken when a promise was. */
  async run(operations: number): Promise<void> {
    const { time, figures } = this.machine;
    time.replaceGlobals();
    await this.#start();
    while (figures.operations < operations) await this.#turn();
    await this.#end();
  }

  /** Where it is, for whoever has to find out why. */
  get progressText(): string {
    const { operations, cuts, kills, stops, starts } = this.machine.figures;
    const { promisedSeq, syncedSeq, head } = this.machine.reference;
    return `at operation ${operations}, start ${starts}, after ${cuts} cuts, ${kills} kills, ${stops} stops; lines up to ${promisedSeq} were answered, ${syncedSeq} synced, ${head.seq} decided`;
  }

  /** Something was thrown and nobody caught it. */
  recordUncaught(error: unknown): void {
    this.machine.server.violation ??= new SimulationViolation(
      "answers",
      `nobody caught ${String(error)}`,
    );
  }

  async #turn(): Promise<void> {
    const { random, server, time, disk } = this.machine;
    this.#letTimePass();
    this.#trouble();
    for (let count = random.pick([1, 3, 10, 20, 30, 50]); count > 0; count -= 1) {
      if (random.chance(0.15)) server.sendRead();
      else server.sendCommand(random.chance(0.000_3));
    }
    if (this.machine.isRefusingChanges || random.chance(0.06)) time.fireIntervals();
    // As the store's own timer does: not while changes are turned away.
    if (random.chance(0.06) && this.#takesChanges) void server.store.checkpoint();
    await this.machine.runPending();
    while (this.machine.isUp && disk.pendingSyncs.length > 0 && random.chance(0.8)) {
      disk.finishOneSync();
      await this.machine.runPending();
    }
    await this.#finishTurn(random.pickWeighted(ENDS));
  }

  async #finishTurn(end: keyof typeof ENDS): Promise<void> {
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
    const by = random.pick([HOUR, 20 * HOUR, 3 * DAY, 40 * DAY, 500 * DAY]);
    // Half of the time somebody puts the clock right.
    if (random.chance(0.5)) time.wall = Math.floor(time.trueNow);
    else time.wall += random.chance(0.5) ? by : -by;
  }

  #trouble(): void {
    const { random, faultInjector, disk, figures, isRefusingChanges } = this.machine;
    if (random.chance(0.03)) {
      const fault = random.pickWeighted({ EIO: 4, cut: 3, kill: 3, "kill checkpoint": 2 });
      faultInjector.arm(fault, random.pick([3, 12, 60]));
    }
    if (this.#fullFor > 1) this.#fullFor -= 1;
    else if (this.#fullFor === 1) this.#makeRoom();
    else if (random.chance(0.015)) {
      figures.full += 1;
      this.#fullFor = random.intBetween(2, 10);
      disk.freeBytes = random.intBelow(20_000);
    }
    this.#roomFor = isRefusingChanges && this.#fullFor === 0 ? this.#roomFor + 1 : 0;
    assertPromise(
      "room",
      this.#roomFor < PATIENCE,
      () => `no change is taken after ${PATIENCE} ticks`,
    );
  }

  #makeRoom(): void {
    this.#fullFor = 0;
    this.machine.disk.freeBytes = Infinity;
  }

  async #start(): Promise<void> {
    const { random, disk, faultInjector, figures } = this.machine;
    for (;;) {
      const copy = random.chance(0.5) ? disk.clone() : null;
      if (!this.#isCalm && random.chance(0.12)) {
        faultInjector.arm(random.pick(["EIO", "cut", "kill"]), random.pick([4, 30]));
      }
      figures.starts += 1;
      this.machine.server = this.machine.newServer();
      this.machine.isRefusingChanges = false;
      const opened = await this.machine.runUntilDone(this.machine.server.open());
      if (opened === "done") return this.#judge(copy);
      figures.startsCutShort += 1;
      if (opened === "down") await this.#goDown();
      else this.#excuse("starts", opened);
    }
  }

  /** An error is fine where the disk gave a reason for it; it ends the process. */
  #excuse(promise: SimulationPromise, error: Error): void {
    const { disk, faultInjector, time } = this.machine;
    const full = errorCode(error) === "ENOSPC" && disk.freeBytes < Infinity;
    assertPromise(promise, full || faultInjector.isInjectedError(error), () => String(error));
    disk.killAll("server");
    time.clearTimers();
    this.#makeRoom();
  }

  /** What a start found must be what was promised, or more of what was decided. */
  async #judge(copy: SimulatedDisk | null): Promise<void> {
    const { reference, server, figures, disk, time } = this.machine;
    const { seq, notes } = server.store.health();
    this.machine.trace(`start ${figures.starts}: ${seq}\n`);
    figures.tornTails += notes.length;
    if (reference.head.seq === 0) {
      reference.create(server.store.peek(({ createdAt }) => createdAt));
      this.#hasGeneration = figures.starts === 1;
    }
    assertPromise(
      "kept",
      seq >= reference.promisedSeq,
      () => `it starts with line ${seq} as its last`,
    );
    const known = reference.tryMoveTo(seq, readLastSum(disk, SIMULATED_FOLDER));
    assertPromise("kept", known, () => `it starts with another line ${seq} than was ever decided`);
    reference.syncedSeq = seq;
    this.machine.lastWrittenSeq = seq;
    const [found, wanted] = [server.store.peek(serializeState), serializeState(reference.state)];
    assertPromise("kept", found === wanted, () => describeDifference(found, wanted));
    figures.recordBytes += checkAuditLog(disk, SIMULATED_FOLDER, reference);
    // Before the first answer there is nothing to be damaged.
    if (copy !== null && seq > 1) await time.runWithOwnTimers(() => this.#damage(copy));
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

  /** The server is gone, and sooner or later so is what it left behind. */
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
    if (this.#isCalm || random.chance(0.7)) this.#makeRoom();
    time.advance(random.intBelow(20) * SECOND);
  }

  async #stop(): Promise<void> {
    const { server, figures, disk } = this.machine;
    const closed = await this.machine.runUntilDone(server.store.close());
    if (closed instanceof Error) this.#excuse("stopped", closed);
    if (closed === "done") this.#checkStopped();
    figures.stops += 1;
    disk.killAll("server");
    await this.#goDown();
    await this.#start();
  }

  /** After a clean stop `state.json` is everything. */
  #checkStopped(): void {
    const { reference, disk } = this.machine;
    const { waitingCount, store, hasFailed } = this.machine.server;
    assertPromise(
      "answers",
      waitingCount === 0,
      () => `${waitingCount} have no answer after a stop`,
    );
    const { fault, checkpointError } = store.health();
    if (fault !== null || checkpointError !== null || hasFailed) return;
    const { covers } = readSnapshot(disk, SIMULATED_FOLDER);
    const { seq } = reference.head;
    assertPromise(
      "stopped",
      covers.seq === seq,
      () => `state.json goes to ${covers.seq}, not ${seq}`,
    );
    reference.promiseUpTo(seq);
  }

  /** Nothing goes wrong any more: everybody is answered, and all of it is there. */
  async #end(): Promise<void> {
    const { faultInjector, time, disk, reference } = this.machine;
    this.#isCalm = true;
    faultInjector.reset();
    this.#makeRoom();
    for (let ticks = 0; ticks === 0 || !this.#takesChanges; ticks += 1) {
      assertPromise(
        "room",
        ticks < PATIENCE,
        () => "no change is taken on a disk that is well again",
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
    assertPromise("answers", waitingCount === 0, () => `${waitingCount} wait for ever`);
    await this.#stop();
    checkAuditChain(reference.auditLogUpTo(reference.head.auditSeq) ?? new Uint8Array());
  }

  get #takesChanges(): boolean {
    return this.machine.server.store.health().fault === null;
  }
}
