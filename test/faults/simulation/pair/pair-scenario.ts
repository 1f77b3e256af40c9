// Two hosts with simulated disks share a simulated log. Each fails in every way that a disk, a
// process, a power supply and a connection to the log can fail, and they lead in turn.
import type { Fault } from "../../../../src/domain/model/fault.ts";
import { instant, SECOND } from "../../../../src/domain/time.ts";
import { errorCode } from "../../../../src/platform/files/system-error.ts";
import { checkpoint } from "../../../../src/store/checkpoint/checkpoint.ts";
import type { StorageFault } from "../../../../src/store/journal/storage-fault.ts";
import { Store } from "../../../../src/store/store.ts";
import { HARDWARE, HARDWARE_ID } from "../../../support/new-site.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { assertPromise } from "../promises.ts";
import { serializeState } from "../reference-model.ts";
import { SimulatedDisk } from "../simulated-disk.ts";
import { SimulatedFolder } from "../simulated-folder.ts";
import { ProcessKilledError } from "../simulated-process.ts";
import { SIMULATED_FOLDER } from "../simulated-server.ts";
import { SimulatedTime } from "../simulated-time.ts";
import { SimulatedHost, TERM } from "./simulated-host.ts";
import { UnreliableLog } from "./unreliable-log.ts";

const TURNS = 400;
/** So many attempts without faults are more than enough. */
const MAX_ATTEMPTS = 50;
const ENDS = { nothing: 94, kill: 2, cut: 3, stop: 1 } as const;

/** Throws a `SimulationViolation` if a promise is broken. */
export async function runPairScenario(seed: number): Promise<void> {
  const errors: unknown[] = [];
  const recordUncaught = (error: unknown): void => {
    if (!(error instanceof ProcessKilledError)) errors.push(error);
  };
  process.on("unhandledRejection", recordUncaught);
  try {
    const run = new PairRun(seed);
    await run.prepare();
    for (let turn = 0; turn < TURNS; turn += 1) {
      await run.turn();
      if (errors.length > 0) throw errors[0];
    }
    await run.finish();
  } finally {
    process.off("unhandledRejection", recordUncaught);
  }
}

class PairRun {
  readonly #time = new SimulatedTime();
  readonly #random: SeededRandom;
  readonly #seed: number;
  #log = new UnreliableLog({ seq: 0, sum: "" }, new SeededRandom(0));
  #hosts: readonly SimulatedHost[] = [];
  #changeCount = 0;
  /** Changes that were acknowledged, and those that certainly did not happen. */
  readonly #acknowledged = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new SeededRandom(seed + 7);
  }

  /** Both hosts begin with the same folder. */
  async prepare(): Promise<void> {
    this.#time.replaceGlobals();
    const first = new SimulatedDisk(new SeededRandom(this.#seed + 1));
    first.root.add("srv", new SimulatedFolder());
    first.root.stage()();
    first.holdsSyncs = false;
    const store = await Store.open({
      disk: first.startProcess("server"),
      folder: SIMULATED_FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      clock: () => instant(this.#time.wall),
      checkpoint: (folder, open) => checkpoint(first.startProcess("checkpoint"), folder, open),
      onFatal: () => {},
    });
    for (const host of ["alpha", "beta"]) {
      const names = { log: "simulated log", host, hardwareId: HARDWARE_ID, hardware: HARDWARE };
      const admitted = store.transact({ type: "AdmitHost", ...names, peer: "" }, () => null);
      await this.#time.runPending();
      await admitted;
    }
    this.#log = new UnreliableLog(store.status().head, this.#random);
    const closed = store.close();
    await this.#time.runPending();
    await closed;
    first.killAll("server");
    const [alpha, beta] = [this.#makeHost("alpha", first), this.#makeHost("beta", first)];
    this.#hosts = [alpha, beta];
    for (const host of this.#hosts) await this.#start(host);
    this.#log.isReliable = false;
  }

  #makeHost(name: string, first: SimulatedDisk): SimulatedHost {
    const disk = first.clone();
    disk.holdsSyncs = true;
    const [log, random] = [this.#log, this.#random];
    return new SimulatedHost({
      name,
      disk,
      log,
      random,
      now: () => this.#time.wall,
      onReply: (change, fault) => this.#checkReply(name, change, fault),
    });
  }

  async turn(): Promise<void> {
    const random = this.#random;
    this.#time.advance(random.intBelow(3) * SECOND);
    this.#log.now += random.intBelow(3) * SECOND;
    for (const host of this.#hosts) this.#disturb(host);
    for (const host of this.#hosts) {
      if (host.isLeading || random.chance(0.1)) host.send(this.#nextChanges());
      if (host.isLeading && random.chance(0.05)) host.stepDown();
      else if (!host.isLeading && random.chance(0.5)) host.follow();
      else if (!host.isLeading && random.chance(0.3)) host.lead();
      if (host.store?.status().fault?.code !== "storage_failed" && random.chance(0.05)) {
        void host.store?.checkpoint();
      }
    }
    if (random.chance(0.3)) this.#time.fireIntervals();
    if (random.chance(0.5)) this.#log.runLateWork();
    await this.#time.runPending();
    for (let count = random.intBelow(6); count > 0; count -= 1) {
      for (const { disk } of this.#hosts) if (disk.pendingSyncs.length > 0) disk.finishOneSync();
      await this.#time.runPending();
    }
    for (const host of this.#hosts) await this.#endTurn(host);
  }

  /** All faults end: the hosts agree with each other and with the log. */
  async finish(): Promise<void> {
    this.#log.isReliable = true;
    for (const host of this.#hosts) {
      host.disk.freeBytes = Infinity;
      host.injector.reset();
      if (host.mustRestart || host.store === null) await this.#restart(host);
    }
    const [alpha, beta] = this.#hosts;
    if (alpha === undefined || beta === undefined) return;
    await this.#repeatUntil("beta does not stop leading", () => {
      beta.stepDown();
      return !beta.isLeading;
    });
    await this.#repeatUntil("alpha does not lead", () => {
      this.#log.now += TERM;
      if (!alpha.isLeading) alpha.lead();
      return alpha.isLeading;
    });
    alpha.send(this.#nextChanges());
    await this.#repeatUntil("beta does not follow", () => {
      beta.follow();
      const { seq } = this.#log.leader;
      return [alpha, beta].every(({ store }) => store?.status().seq === seq);
    });
    const [one, two] = [alpha, beta].map(({ store }) => store?.peek(serializeState));
    assertPromise("kept", one === two, () => "the hosts have different states");
    for (const host of this.#hosts) host.checkJournal();
    for (const host of this.#hosts) await this.#stop(host);
    const lines = this.#log.lines.map(({ text }) => text).join("");
    for (const change of this.#acknowledged) {
      assertPromise("kept", lines.includes(`"${change}"`), () => `${change} is not in the log`);
    }
    for (const change of this.#refused) {
      assertPromise("hidden", !lines.includes(`"${change}"`), () => `${change} is in the log`);
    }
  }

  #nextChanges(): string[] {
    const count = this.#random.pick([1, 2, 5]);
    return Array.from({ length: count }, () => {
      this.#changeCount += 1;
      return `change ${this.#changeCount}.`;
    });
  }

  #checkReply(host: string, change: string, fault: Fault | StorageFault | null): void {
    if (fault === null) this.#acknowledged.add(change);
    else if (fault.code === "standby") this.#refused.add(change);
    if (fault !== null) return;
    const isInLog = this.#log.lines.some(({ text }) => text.includes(`"${change}"`));
    assertPromise("kept", isInLog, () => `${host} acknowledged ${change}, which the log lacks`);
  }

  #disturb({ injector, disk }: SimulatedHost): void {
    const random = this.#random;
    if (random.chance(0.03)) injector.arm(random.pick(["EIO", "cut", "kill"]), 12);
    if (disk.freeBytes < Infinity) {
      if (random.chance(0.3)) disk.freeBytes = Infinity;
    } else if (random.chance(0.03)) disk.freeBytes = random.intBelow(5_000);
  }

  async #endTurn(host: SimulatedHost): Promise<void> {
    assertPromise("files", host.disk.misuse === null, () => `${host.name}: ${host.disk.misuse}`);
    const problem = host.store?.status().followProblem ?? null;
    assertPromise("answers", problem === null, () => `${host.name}: ${problem?.message}`);
    const end = this.#random.pickWeighted(ENDS);
    if (host.mustRestart) return this.#restart(host);
    if (end === "nothing") return;
    if (end === "stop") await this.#stop(host);
    else if (end === "cut") host.injector.cutPower();
    else host.injector.killServer();
    await this.#restart(host);
  }

  async #restart(host: SimulatedHost): Promise<void> {
    host.end();
    if (this.#random.chance(0.3)) host.disk.cutPower();
    host.disk.freeBytes = Infinity;
    await this.#time.runPending();
    await this.#start(host);
  }

  async #start(host: SimulatedHost): Promise<void> {
    const opened = await this.#run(host, host.open());
    if (opened === null) return;
    const isAllowed = host.injector.isInjectedError(opened) || errorCode(opened) === "ENOSPC";
    const isLogAway = opened.name === "LogUnavailable";
    const isDown = host.injector.downCause !== null;
    assertPromise(
      "starts",
      isAllowed || isLogAway || isDown,
      () => `${host.name}: ${opened.stack}`,
    );
    return this.#restart(host);
  }

  async #stop(host: SimulatedHost): Promise<void> {
    const { store } = host;
    if (store !== null) await this.#run(host, store.close());
  }

  /** Finishes syncs and late work until it is done; returns its error, or null. */
  async #run(host: SimulatedHost, work: Promise<unknown>): Promise<Error | null> {
    const outcome: { value: Error | "done" | null } = { value: null };
    work.then(
      () => (outcome.value = "done"),
      (error: unknown) =>
        (outcome.value = error instanceof Error ? error : new Error(String(error))),
    );
    for (let idle = 0; idle < 5; idle += 1) {
      await this.#time.runPending();
      if (outcome.value !== null) return outcome.value === "done" ? null : outcome.value;
      if (host.injector.downCause !== null) return new ProcessKilledError();
      const first = this.#hosts.find(({ disk }) => disk.pendingSyncs.length > 0);
      if (first === undefined && !this.#log.runLateWork()) continue;
      first?.disk.finishOneSync();
      idle = 0;
    }
    assertPromise("answers", false, () => `${host.name} waits although no sync is pending`);
    return null;
  }

  async #repeatUntil(problem: string, work: () => boolean): Promise<void> {
    for (let attempt = 0; !work(); attempt += 1) {
      assertPromise("answers", attempt < MAX_ATTEMPTS, () => problem);
      this.#time.fireIntervals();
      for (let count = 0; count < 20; count += 1) {
        this.#log.runLateWork();
        for (const { disk } of this.#hosts) if (disk.pendingSyncs.length > 0) disk.finishOneSync();
        await this.#time.runPending();
      }
    }
  }
}
