// A site on a disk whose power goes: its server, those who use it, and what must hold when the
// power is back.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { listGenerations, listSegments, STATE_FILE } from "../../src/store/files.ts";
import { until, type Cut, type CutDisk, type FileSystem, type Loss } from "./cut-disk.ts";
import { Neighbour } from "./neighbour.ts";
import { Clients, Gone } from "./power-clients.ts";
import { Ledger, type Fault } from "./power-ledger.ts";
import { brokenRecord, copyOf, faultIn, leftToReplay, noWayBack } from "./power-record.ts";
import { PowerServer } from "./power-server.ts";

export const USERS = 24;

/** Answers before a server is told to stop: it should have something to fold. */
const WARM = 20;

export interface Work {
  readonly clients: number;
  readonly random: () => number;
}

/** How far a checkpoint has come: a new segment, a new state beside the old, the old one kept. */
export type FoldStep = "begun" | "written" | "kept";

export class Site {
  readonly ledger = new Ledger(USERS);
  readonly figures = { torn: 0, stops: 0 };
  readonly #disk: CutDisk;
  readonly #system: FileSystem;
  readonly #evidence: string;
  readonly #folder: string;
  #server: PowerServer | null = null;
  #neighbour: Neighbour | null = null;
  #clients: Clients | null = null;

  /** `evidence` is where a copy of the data folder stays, as the newest cut left it. */
  constructor(disk: CutDisk, system: FileSystem, evidence: string) {
    this.#disk = disk;
    this.#system = system;
    this.#evidence = evidence;
    this.#folder = join(disk.path, "data");
  }

  async begin(template: string): Promise<Fault[]> {
    this.#disk.format(template, this.#system);
    this.#disk.mount(this.#system);
    return this.#serve();
  }

  /** The power goes while everybody works. */
  async cutAtWork(cut: Cut, work: Work): Promise<Loss> {
    this.#disk.cut(cut);
    return this.#down(this.#working(work));
  }

  /** The power goes while a closed segment is being folded and everybody works on. */
  async cutAtRotation(cut: Cut, work: Work, step: FoldStep): Promise<Loss> {
    const newest = (of: typeof listSegments): number =>
      of(realDisk, this.#folder).at(-1)?.number ?? 0;
    const [segment, generation] = [newest(listSegments), newest(listGenerations)];
    const kept = (): boolean => newest(listGenerations) > generation;
    const has: Record<FoldStep, () => boolean> = {
      begun: () => newest(listSegments) > segment,
      // The last step is over in no time: whoever misses it sees the one after.
      written: () => existsSync(join(this.#folder, `${STATE_FILE}.new`)) || kept(),
      kept,
    };
    const working = this.#working(work);
    await this.#whileWorking(working, `a checkpoint is ${step}`, has[step]);
    this.#disk.cut(cut);
    return this.#down(working);
  }

  /** The power goes while the server stops, or when it has. */
  async cutAtStop(cut: Cut, work: Work): Promise<{ loss: Loss; faults: Fault[] }> {
    const { figures } = this.ledger;
    const before = figures.answered;
    const working = this.#working(work);
    const isWarm = (): boolean => figures.answered > before + WARM;
    await this.#whileWorking(working, "they are answered", isWarm);
    this.#disk.cut(cut);
    const gone = this.#disk.gone();
    const code = await Promise.race([this.#server?.stop(), gone.then(() => null)]);
    this.#disk.cutNow();
    const loss = await this.#down(working);
    // Without power it ends as it can.
    if (code === null || loss.when !== "n") return { loss, faults: [] };
    return { loss, faults: await this.#afterStop(code ?? -1) };
  }

  /** The power goes again while the server starts, or when it has. */
  async cutAtStart(cut: Cut): Promise<Loss> {
    this.#disk.mount(this.#system);
    this.#disk.cut(cut);
    this.#server = new PowerServer(this.#folder);
    await Promise.race([this.#server.ready, this.#disk.gone()]);
    this.#disk.cutNow();
    return this.#down(Promise.resolve());
  }

  /** The power is back: everything that was answered must be. */
  async comeBack(): Promise<Fault[]> {
    this.#disk.mount(this.#system);
    copyOf(this.#folder, this.#evidence);
    const faults = await this.#serve();
    if (this.#clients === null) return faults;
    faults.push(...(await this.#lookAtFolder()));
    try {
      faults.push(...(await this.#compare(this.#clients)));
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      faults.push({ promise: "starts", detail: `it starts and does not answer ${error.message}` });
    }
    return [...faults, ...this.ledger.wrong.splice(0)];
  }

  async #compare(clients: Clients): Promise<Fault[]> {
    if (await clients.isTornAtStart()) this.figures.torn += 1;
    const faults = this.ledger.settle(await clients.slots(), await clients.total());
    await clients.repeat();
    return faults;
  }

  /** Ends in peace: whatever the cuts left behind, it must be able to. */
  async end(): Promise<Fault[]> {
    const code = (await this.#server?.stop()) ?? 0;
    await this.#server?.kill();
    await this.#disk.unmount();
    // One that could not even start has been told of.
    return this.#clients === null ? [] : this.#afterStop(code);
  }

  async #serve(): Promise<Fault[]> {
    this.#server = new PowerServer(this.#folder);
    const url = await this.#server.ready;
    this.#clients = url === null ? null : new Clients(url, this.ledger);
    return url === null ? [{ promise: "starts", detail: await this.#server.lastWords() }] : [];
  }

  #working({ clients, random }: Work): Promise<void> {
    if (this.#system.isLoose) this.#neighbour = new Neighbour(this.#disk.path);
    return this.#clients?.work(clients, random) ?? Promise.resolve();
  }

  /** Where nobody is served any more there is nothing to wait for. */
  async #whileWorking(working: Promise<void>, what: string, holds: () => boolean): Promise<void> {
    let over = false;
    void working.then(() => {
      over = true;
    });
    await until(what, () => over || holds());
  }

  async #down(working: Promise<void>): Promise<Loss> {
    const loss = await this.#disk.gone();
    await this.#server?.kill();
    this.#clients?.hangUp();
    await working;
    await this.#neighbour?.leave();
    await this.#disk.unmount();
    return loss;
  }

  async #afterStop(code: number): Promise<Fault[]> {
    if (code !== 0) return [{ promise: "stops", detail: await this.#server?.lastWords() }];
    this.figures.stops += 1;
    this.#disk.mount(this.#system);
    const left = await faultIn(this.#folder, leftToReplay);
    const faults = await this.#lookAtFolder();
    await this.#disk.unmount();
    return left === null ? faults : [{ promise: "stops", detail: left }, ...faults];
  }

  async #lookAtFolder(): Promise<Fault[]> {
    const faults: Fault[] = [];
    for (const look of [brokenRecord, noWayBack]) {
      const detail = await faultIn(this.#folder, look);
      if (detail !== null) faults.push({ promise: "record", detail });
    }
    return faults;
  }
}
