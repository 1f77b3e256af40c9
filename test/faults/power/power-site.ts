// A site on a disk whose power goes: its server, those who use it, and what must hold when the
// power is back.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { listGenerations, listSegments, STATE_FILE } from "../../../src/store/files.ts";
import {
  waitUntil,
  type PowerCut,
  type PowerCutDisk,
  type Ext4Options,
  type LossReport,
} from "./power-cut-disk.ts";
import { BackgroundSyncer } from "./background-syncer.ts";
import { PowerClients, ServerGoneError } from "./clients.ts";
import { ExpectedState, type PowerViolation } from "./expected-state.ts";
import {
  checkAuditLog,
  copyFolder,
  runFolderCheck,
  checkNothingToReplay,
  checkPreviousCheckpoint,
} from "./folder-checks.ts";
import { PowerServer } from "./power-server.ts";

export const USERS = 24;

/** Answers before a server is told to stop: it should have something to fold. */
const WARM = 20;

export interface Workload {
  readonly clients: number;
  readonly random: () => number;
}

/** How far a checkpoint has come: a new segment, a new state beside the old, the old one kept. */
export type CheckpointStep = "begun" | "written" | "kept";

export class PowerSite {
  readonly expected = new ExpectedState(USERS);
  readonly figures = { torn: 0, stops: 0 };
  readonly #disk: PowerCutDisk;
  readonly #system: Ext4Options;
  readonly #evidence: string;
  readonly #folder: string;
  #server: PowerServer | null = null;
  #neighbour: BackgroundSyncer | null = null;
  #clients: PowerClients | null = null;

  /** `evidence` is where a copy of the data folder stays, as the newest cut left it. */
  constructor(disk: PowerCutDisk, system: Ext4Options, evidence: string) {
    this.#disk = disk;
    this.#system = system;
    this.#evidence = evidence;
    this.#folder = join(disk.path, "data");
  }

  async startFrom(template: string): Promise<PowerViolation[]> {
    this.#disk.format(template, this.#system);
    this.#disk.mount(this.#system);
    return this.#serve();
  }

  /** The power goes while everybody works. */
  async cutUnderLoad(cut: PowerCut, work: Workload): Promise<LossReport> {
    this.#disk.armCut(cut);
    return this.#down(this.#working(work));
  }

  /** The power goes while a closed segment is being folded and everybody works on. */
  async cutDuringRotation(
    cut: PowerCut,
    work: Workload,
    step: CheckpointStep,
  ): Promise<LossReport> {
    const newest = (of: typeof listSegments): number =>
      of(realDisk, this.#folder).at(-1)?.number ?? 0;
    const [segment, generation] = [newest(listSegments), newest(listGenerations)];
    const kept = (): boolean => newest(listGenerations) > generation;
    const has: Record<CheckpointStep, () => boolean> = {
      begun: () => newest(listSegments) > segment,
      // The last step is over in no time: whoever misses it sees the one after.
      written: () => existsSync(join(this.#folder, `${STATE_FILE}.new`)) || kept(),
      kept,
    };
    const working = this.#working(work);
    await this.#whileWorking(working, `a checkpoint is ${step}`, has[step]);
    this.#disk.armCut(cut);
    return this.#down(working);
  }

  /** The power goes while the server stops, or when it has. */
  async cutDuringStop(
    cut: PowerCut,
    work: Workload,
  ): Promise<{ loss: LossReport; faults: PowerViolation[] }> {
    const { figures } = this.expected;
    const before = figures.answered;
    const working = this.#working(work);
    const isWarm = (): boolean => figures.answered > before + WARM;
    await this.#whileWorking(working, "they are answered", isWarm);
    this.#disk.armCut(cut);
    const gone = this.#disk.waitUntilCut();
    const code = await Promise.race([this.#server?.stop(), gone.then(() => null)]);
    this.#disk.cutNow();
    const loss = await this.#down(working);
    // Without power it ends as it can.
    if (code === null || loss.trigger !== "n") return { loss, faults: [] };
    return { loss, faults: await this.#afterStop(code ?? -1) };
  }

  /** The power goes again while the server starts, or when it has. */
  async cutDuringStart(cut: PowerCut): Promise<LossReport> {
    this.#disk.mount(this.#system);
    this.#disk.armCut(cut);
    this.#server = new PowerServer(this.#folder);
    await Promise.race([this.#server.ready, this.#disk.waitUntilCut()]);
    this.#disk.cutNow();
    return this.#down(Promise.resolve());
  }

  /** The power is back: everything that was answered must be. */
  async restartAndCheck(): Promise<PowerViolation[]> {
    this.#disk.mount(this.#system);
    copyFolder(this.#folder, this.#evidence);
    const faults = await this.#serve();
    if (this.#clients === null) return faults;
    faults.push(...(await this.#lookAtFolder()));
    try {
      faults.push(...(await this.#compare(this.#clients)));
    } catch (error) {
      if (!(error instanceof ServerGoneError)) throw error;
      faults.push({ promise: "starts", detail: `it starts and does not answer ${error.message}` });
    }
    return [...faults, ...this.expected.violations.splice(0)];
  }

  async #compare(clients: PowerClients): Promise<PowerViolation[]> {
    if (await clients.hasTornTailNote()) this.figures.torn += 1;
    const faults = this.expected.reconcile(await clients.readSlots(), await clients.readTotal());
    await clients.repeatCounts();
    return faults;
  }

  /** Ends in peace: whatever the cuts left behind, it must be able to. */
  async stopAndCheck(): Promise<PowerViolation[]> {
    const code = (await this.#server?.stop()) ?? 0;
    await this.#server?.kill();
    await this.#disk.unmount();
    // One that could not even start has been told of.
    return this.#clients === null ? [] : this.#afterStop(code);
  }

  async #serve(): Promise<PowerViolation[]> {
    this.#server = new PowerServer(this.#folder);
    const url = await this.#server.ready;
    this.#clients = url === null ? null : new PowerClients(url, this.expected);
    return url === null ? [{ promise: "starts", detail: await this.#server.describeExit() }] : [];
  }

  #working({ clients, random }: Workload): Promise<void> {
    if (this.#system.isWriteback) this.#neighbour = new BackgroundSyncer(this.#disk.path);
    return this.#clients?.runLoad(clients, random) ?? Promise.resolve();
  }

  /** Where nobody is served any more there is nothing to wait for. */
  async #whileWorking(working: Promise<void>, what: string, holds: () => boolean): Promise<void> {
    let over = false;
    void working.then(() => {
      over = true;
    });
    await waitUntil(what, () => over || holds());
  }

  async #down(working: Promise<void>): Promise<LossReport> {
    const loss = await this.#disk.waitUntilCut();
    await this.#server?.kill();
    this.#clients?.abortCalls();
    await working;
    await this.#neighbour?.stop();
    await this.#disk.unmount();
    return loss;
  }

  async #afterStop(code: number): Promise<PowerViolation[]> {
    if (code !== 0) return [{ promise: "stops", detail: await this.#server?.describeExit() }];
    this.figures.stops += 1;
    this.#disk.mount(this.#system);
    const left = await runFolderCheck(this.#folder, checkNothingToReplay);
    const faults = await this.#lookAtFolder();
    await this.#disk.unmount();
    return left === null ? faults : [{ promise: "stops", detail: left }, ...faults];
  }

  async #lookAtFolder(): Promise<PowerViolation[]> {
    const faults: PowerViolation[] = [];
    for (const look of [checkAuditLog, checkPreviousCheckpoint]) {
      const detail = await runFolderCheck(this.#folder, look);
      if (detail !== null) faults.push({ promise: "record", detail });
    }
    return faults;
  }
}
