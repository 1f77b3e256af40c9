// A site on a disk whose power is cut: its server, its clients, and the checks after a restart.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listGenerations, listSegments, STATE_FILE } from "../../../src/store/folder/files.ts";
import {
  type PowerCut,
  type PowerCutDisk,
  type Ext4Options,
  type LossReport,
} from "./power-cut-disk.ts";
import { BackgroundSyncer } from "./background-syncer.ts";
import type { ServerRun } from "../kill/calls.ts";
import { KillResults, type KillPromise } from "../kill/results.ts";
import { SiteLoad } from "../kill/site-load.ts";
import { checkState } from "../kill/state-check.ts";
import {
  checkAuditLog,
  copyFolder,
  runFolderCheck,
  checkPreviousCheckpoint,
} from "./folder-checks.ts";
import { PowerServer } from "./power-server.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** The promises that a power cut could break. */
export type PowerPromise = KillPromise | "first";

export interface PowerViolation {
  readonly promise: PowerPromise;
  readonly detail: unknown;
}

/** Answers before a stop, so that its checkpoint has something to write. */
const ANSWERS_BEFORE_STOP = 20;

export interface Workload {
  readonly clients: number;
  readonly usesLongTexts: boolean;
}

/** How far a checkpoint is: new segment opened, new state written, previous state kept. */
export type CheckpointStep = "started" | "written" | "kept";

export class PowerSite {
  readonly results = new KillResults("");
  readonly figures = { answered: 0, torn: 0, stops: 0 };
  readonly #load: SiteLoad;
  readonly #disk: PowerCutDisk;
  readonly #system: Ext4Options;
  readonly #evidence: string;
  readonly #folder: string;
  #server: PowerServer | null = null;
  #syncer: BackgroundSyncer | null = null;
  /** How the clients see the server; null: it did not become ready. */
  #run: ServerRun | null = null;
  #abortController = new AbortController();

  /** `evidence`: the path for a copy of the data folder as the latest cut left it. */
  constructor(disk: PowerCutDisk, system: Ext4Options, evidence: string, random: () => number) {
    this.#load = new SiteLoad(this.results, random);
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

  /** Cuts the power while clients make calls. */
  async cutUnderLoad(cut: PowerCut, workload: Workload): Promise<LossReport> {
    this.#disk.armCut(cut);
    return this.#waitForCut(this.#startLoad(workload));
  }

  /** Cuts the power at a step of a checkpoint, while clients make calls. */
  async cutDuringRotation(
    cut: PowerCut,
    workload: Workload,
    step: CheckpointStep,
  ): Promise<LossReport> {
    const newestNumber = (list: typeof listSegments): number =>
      list(realDisk, this.#folder).at(-1)?.number ?? 0;
    const [segment, generation] = [newestNumber(listSegments), newestNumber(listGenerations)];
    const isStateKept = (): boolean => newestNumber(listGenerations) > generation;
    const isReached: Record<CheckpointStep, () => boolean> = {
      started: () => newestNumber(listSegments) > segment,
      // This step may be too short to be seen; then the next step is.
      written: () => existsSync(join(this.#folder, `${STATE_FILE}.new`)) || isStateKept(),
      kept: isStateKept,
    };
    const load = this.#startLoad(workload);
    await this.#waitDuringLoad(load, `a checkpoint is ${step}`, isReached[step]);
    this.#disk.armCut(cut);
    return this.#waitForCut(load);
  }

  /** Cuts the power while the server stops, or afterwards. */
  async cutDuringStop(
    cut: PowerCut,
    workload: Workload,
  ): Promise<{ loss: LossReport; violations: PowerViolation[] }> {
    const { figures } = this;
    const before = figures.answered;
    const load = this.#startLoad(workload);
    const hasEnoughAnswers = (): boolean => figures.answered > before + ANSWERS_BEFORE_STOP;
    await this.#waitDuringLoad(load, "clients have enough answers", hasEnoughAnswers);
    this.#disk.armCut(cut);
    const powerCut = this.#disk.waitUntilCut();
    const code = await Promise.race([this.#server?.stop(), powerCut.then(() => null)]);
    this.#disk.cutNow();
    const loss = await this.#waitForCut(load);
    // If the power was cut during the stop, any exit code is valid.
    if (code === null || loss.trigger !== "n") return { loss, violations: [] };
    return { loss, violations: await this.#checkAfterStop(code ?? -1) };
  }

  /** Cuts the power again while the server starts, or when it is ready. */
  async cutDuringStart(cut: PowerCut): Promise<LossReport> {
    this.#disk.mount(this.#system);
    this.#disk.armCut(cut);
    this.#server = new PowerServer(this.#folder);
    await Promise.race([this.#server.ready, this.#disk.waitUntilCut()]);
    this.#disk.cutNow();
    return this.#waitForCut(Promise.resolve());
  }

  /** Restores the power, restarts the server, and checks that everything answered is there. */
  async restartAndCheck(): Promise<PowerViolation[]> {
    this.#disk.mount(this.#system);
    copyFolder(this.#folder, this.#evidence);
    const violations = await this.#serve();
    if (this.#run === null) return violations;
    violations.push(...(await this.#checkFolder()));
    if (!(await this.#load.reconcile(this.#run)))
      violations.push({ promise: "starts", detail: "the server is ready but does not answer" });
    return [...violations, ...this.#takeViolations()];
  }

  #takeViolations(): PowerViolation[] {
    return this.results.violations.splice(0).map(({ kind, detail }) => ({ promise: kind, detail }));
  }

  /** Stops the server without a cut: it must succeed, whatever earlier cuts left behind. */
  async stopAndCheck(): Promise<PowerViolation[]> {
    const code = (await this.#server?.stop()) ?? 0;
    await this.#server?.kill();
    await this.#disk.unmount();
    // A server that could not start was reported before.
    return this.#run === null ? [] : this.#checkAfterStop(code);
  }

  async #serve(): Promise<PowerViolation[]> {
    this.#server = new PowerServer(this.#folder);
    const url = await this.#server.ready;
    this.#abortController = new AbortController();
    this.#run = url === null ? null : this.#makeRun(url);
    return url === null ? [{ promise: "starts", detail: await this.#server.describeExit() }] : [];
  }

  #makeRun(url: string): ServerRun {
    return {
      url,
      usesLongTexts: false,
      isOver: false,
      // The power may be cut at any time.
      isEnding: true,
      onAnswer: () => {
        this.figures.answered += 1;
      },
      onEarlyRead() {},
      onTermEnd() {},
      signal: this.#abortController.signal,
    };
  }

  async #startLoad({ clients, usesLongTexts }: Workload): Promise<void> {
    if (this.#system.isWriteback) this.#syncer = new BackgroundSyncer(this.#disk.path);
    if (this.#run !== null) await this.#load.send({ ...this.#run, usesLongTexts }, clients);
  }

  /** Waits for a condition, or until the clients get no more answers. */
  async #waitDuringLoad(
    load: Promise<void>,
    condition: string,
    holds: () => boolean,
  ): Promise<void> {
    let isLoadOver = false;
    void load.then(() => {
      isLoadOver = true;
    });
    await waitUntil(() => isLoadOver || holds(), condition, { maxPause: 2 });
  }

  async #waitForCut(load: Promise<void>): Promise<LossReport> {
    const loss = await this.#disk.waitUntilCut();
    await this.#server?.kill();
    this.#abortController.abort();
    await load;
    if ((await this.#server?.stderrText)?.includes("interrupted write")) this.figures.torn += 1;
    await this.#syncer?.stop();
    await this.#disk.unmount();
    return loss;
  }

  async #checkAfterStop(code: number): Promise<PowerViolation[]> {
    if (code !== 0) return [{ promise: "stops", detail: await this.#server?.describeExit() }];
    this.figures.stops += 1;
    this.#disk.mount(this.#system);
    const violations = await this.#checkFolder();
    checkState(this.#folder, this.#load.expectedState, this.results);
    await this.#disk.unmount();
    return [...violations, ...this.#takeViolations()];
  }

  async #checkFolder(): Promise<PowerViolation[]> {
    const violations: PowerViolation[] = [];
    for (const folderCheck of [checkAuditLog, checkPreviousCheckpoint]) {
      const detail = await runFolderCheck(this.#folder, folderCheck);
      if (detail !== null) violations.push({ promise: "auditLog", detail });
    }
    return violations;
  }
}
