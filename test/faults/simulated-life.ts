// One life of a site on a simulated machine: thousands of operations, and everything that can go
// wrong in between. All chance comes from the seed, so a life can be lived again.
import { DAY, HOUR, MINUTE, SECOND } from "../../src/domain/time.ts";
import { errorCode } from "../../src/platform/disk.ts";
import { tryDamage } from "./simulated-damage.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { SimulatedMachine } from "./simulated-machine.ts";
import { Broken, demand, difference, type PromiseName } from "./simulated-promises.ts";
import { checkRecord, lastSumOn, snapshotOn, walkRecord } from "./simulated-record.ts";
import { textOf } from "./simulated-reference.ts";
import { FOLDER } from "./simulated-server.ts";

/** What happens at the end of a turn, in a hundred. */
const ENDS = { nothing: 96, cut: 1.6, kill: 1.2, stop: 0.7, "kill and cut": 0.5 } as const;

/** So many turns with room, a tick of the store's timer each, and it must have noticed. */
const PATIENCE = 30;

export class Life {
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
  async live(operations: number): Promise<void> {
    const { time, figures } = this.machine;
    time.takeOver();
    await this.#start();
    while (figures.operations < operations) await this.#turn();
    await this.#end();
  }

  /** Where it is, for whoever has to find out why. */
  get place(): string {
    const { operations, cuts, kills, stops, starts } = this.machine.figures;
    const { promised, synced, head } = this.machine.reference;
    return `at operation ${operations}, start ${starts}, after ${cuts} cuts, ${kills} kills, ${stops} stops; lines up to ${promised} were answered, ${synced} synced, ${head.seq} decided`;
  }

  /** Something was thrown and nobody caught it. */
  threw(error: unknown): void {
    this.machine.server.broken ??= new Broken("answers", `nobody caught ${String(error)}`);
  }

  async #turn(): Promise<void> {
    const { dice, server, time, disk } = this.machine;
    this.#letTimePass();
    this.#trouble();
    for (let count = dice.pick([1, 3, 10, 20, 30, 50]); count > 0; count -= 1) {
      if (dice.chance(0.15)) server.look();
      else server.ask(dice.chance(0.000_3));
    }
    if (this.machine.turnedAway || dice.chance(0.06)) time.tick();
    // As the store's own timer does: not while changes are turned away.
    if (dice.chance(0.06) && this.#takesChanges) void server.store.checkpoint();
    await this.machine.settle();
    while (this.machine.isUp && disk.syncs.length > 0 && dice.chance(0.8)) {
      disk.finishOne();
      await this.machine.settle();
    }
    await this.#finishTurn(dice.weighed(ENDS));
  }

  async #finishTurn(end: keyof typeof ENDS): Promise<void> {
    const { faults, server, dice, isUp } = this.machine;
    if (isUp && server.hasFailed && dice.chance(0.5)) faults.kill();
    else if (isUp && end === "nothing") return;
    else if (isUp && end === "stop") return this.#stop();
    else if (isUp && end === "cut") faults.cut();
    else if (isUp) faults.kill();
    if (end === "kill and cut") faults.cut();
    await this.#goDown();
    await this.#start();
  }

  #letTimePass(): void {
    const { dice, time, figures } = this.machine;
    const units = { none: 0, seconds: SECOND, minutes: MINUTE, hours: HOUR, days: DAY };
    const unit = dice.weighed({ none: 20, seconds: 60, minutes: 15, hours: 3, days: 1 });
    time.pass(units[unit] * dice.between(1, 20));
    if (!dice.chance(0.02)) return;
    figures.jumps += 1;
    const by = dice.pick([HOUR, 20 * HOUR, 3 * DAY, 40 * DAY, 500 * DAY]);
    // Half of the time somebody puts the clock right.
    if (dice.chance(0.5)) time.wall = Math.floor(time.trueNow);
    else time.wall += dice.chance(0.5) ? by : -by;
  }

  #trouble(): void {
    const { dice, faults, disk, figures, turnedAway } = this.machine;
    if (dice.chance(0.03)) {
      const fault = dice.weighed({ EIO: 4, cut: 3, kill: 3, "kill checkpoint": 2 });
      faults.arm(fault, dice.pick([3, 12, 60]));
    }
    if (this.#fullFor > 1) this.#fullFor -= 1;
    else if (this.#fullFor === 1) this.#makeRoom();
    else if (dice.chance(0.015)) {
      figures.full += 1;
      this.#fullFor = dice.between(2, 10);
      disk.room = dice.below(20_000);
    }
    this.#roomFor = turnedAway && this.#fullFor === 0 ? this.#roomFor + 1 : 0;
    demand("room", this.#roomFor < PATIENCE, () => `no change is taken after ${PATIENCE} ticks`);
  }

  #makeRoom(): void {
    this.#fullFor = 0;
    this.machine.disk.room = Infinity;
  }

  async #start(): Promise<void> {
    const { dice, disk, faults, figures } = this.machine;
    for (;;) {
      const copy = dice.chance(0.5) ? disk.clone() : null;
      if (!this.#isCalm && dice.chance(0.12)) {
        faults.arm(dice.pick(["EIO", "cut", "kill"]), dice.pick([4, 30]));
      }
      figures.starts += 1;
      this.machine.server = this.machine.newServer();
      this.machine.turnedAway = false;
      const opened = await this.machine.pump(this.machine.server.open());
      if (opened === "done") return this.#judge(copy);
      figures.startsCutShort += 1;
      if (opened === "down") await this.#goDown();
      else this.#excuse("starts", opened);
    }
  }

  /** An error is fine where the disk gave a reason for it; it ends the process. */
  #excuse(promise: PromiseName, error: Error): void {
    const { disk, faults, time } = this.machine;
    const full = errorCode(error) === "ENOSPC" && disk.room < Infinity;
    demand(promise, full || faults.failed(error), () => String(error));
    disk.killAll("server");
    time.forgetTimers();
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
    demand("kept", seq >= reference.promised, () => `it starts with line ${seq} as its last`);
    const known = reference.standsAt(seq, lastSumOn(disk, FOLDER));
    demand("kept", known, () => `it starts with another line ${seq} than was ever decided`);
    reference.synced = seq;
    this.machine.written = seq;
    const [found, wanted] = [server.store.peek(textOf), textOf(reference.state)];
    demand("kept", found === wanted, () => difference(found, wanted));
    figures.recordBytes += checkRecord(disk, FOLDER, reference);
    // Before the first answer there is nothing to be damaged.
    if (copy !== null && seq > 1) await time.aside(() => this.#damage(copy));
  }

  #damage(disk: SimulatedDisk): Promise<void> {
    const { reference, dice, figures } = this.machine;
    return tryDamage({
      disk,
      folder: FOLDER,
      reference,
      dice,
      figures,
      open: () => this.machine.newServer().open(disk),
      hasGeneration: this.#hasGeneration,
    });
  }

  /** The server is gone, and sooner or later so is what it left behind. */
  async #goDown(): Promise<void> {
    const { server, time, dice, disk, faults } = this.machine;
    server.isGone = true;
    time.forgetTimers();
    for (let steps = dice.below(8); steps > 0 && disk.syncs.length > 0; steps -= 1) {
      disk.finishOne();
      await time.settle();
    }
    if (dice.chance(0.2)) faults.cut();
    disk.killAll("checkpoint");
    faults.reset();
    if (this.#isCalm || dice.chance(0.7)) this.#makeRoom();
    time.pass(dice.below(20) * SECOND);
  }

  async #stop(): Promise<void> {
    const { server, figures, disk } = this.machine;
    const closed = await this.machine.pump(server.store.close());
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
    const { waiting, store, hasFailed } = this.machine.server;
    demand("answers", waiting === 0, () => `${waiting} have no answer after a stop`);
    const { fault, checkpointError } = store.health();
    if (fault !== null || checkpointError !== null || hasFailed) return;
    const { covers } = snapshotOn(disk, FOLDER);
    const { seq } = reference.head;
    demand("stopped", covers.seq === seq, () => `state.json goes to ${covers.seq}, not ${seq}`);
    reference.promise(seq);
  }

  /** Nothing goes wrong any more: everybody is answered, and all of it is there. */
  async #end(): Promise<void> {
    const { faults, time, disk, reference } = this.machine;
    this.#isCalm = true;
    faults.reset();
    this.#makeRoom();
    for (let ticks = 0; ticks === 0 || !this.#takesChanges; ticks += 1) {
      demand("room", ticks < PATIENCE, () => "no change is taken on a disk that is well again");
      if (this.machine.server.hasFailed) {
        faults.kill();
        await this.#goDown();
        await this.#start();
      }
      time.tick();
      await this.machine.settle();
      while (disk.syncs.length > 0) {
        disk.finishOne();
        await this.machine.settle();
      }
    }
    const { waiting } = this.machine.server;
    demand("answers", waiting === 0, () => `${waiting} wait for ever`);
    await this.#stop();
    walkRecord(reference.recordUpTo(reference.head.auditSeq) ?? new Uint8Array());
  }

  get #takesChanges(): boolean {
    return this.machine.server.store.health().fault === null;
  }
}
