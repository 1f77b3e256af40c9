import type { Command } from "../../domain/decide.ts";
import type { Demand } from "../../domain/model/demand/episode.ts";
import type { Fault } from "../../domain/model/fault.ts";
import type { State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { AuditMeter } from "../../store/store-options.ts";
import type { Store } from "../../store/store.ts";
import type { DemandCounts } from "./demand-counts.ts";
import { findDemand, isDemandFault, listDemandsLeft, ruleOf } from "./demand-of-command.ts";
import { EpisodeTracker } from "./episode-tracker.ts";
import { EpisodeWriter } from "./episode-writer.ts";

/** A command, when it was decided, the last journal line then, and the budget that pays. */
interface MeteredCommand {
  readonly command: Command;
  readonly at: Instant;
  readonly seq: number;
  readonly meter: AuditMeter | null;
}

/** The size of the audited line of an episode, without its names. */
const EPISODE_LINE_BYTES = 500;

/** Turns refusals for want of a slot into denied episodes, and records them. */
export class DemandRecorder {
  readonly #store: Store;
  readonly #tracker = new EpisodeTracker();
  readonly #writer: EpisodeWriter;
  /**
   * Whether open episodes of the last process are checked. Only with the first change: a command
   * that only reads the data folder must not write.
   */
  #isResumed = false;

  constructor(store: Store) {
    this.#store = store;
    this.#writer = new EpisodeWriter(store, this.#tracker);
    store.peek((state) => this.#tracker.continue(state));
  }

  get counts(): DemandCounts {
    return this.#tracker.counts;
  }

  get #hasOpenEpisodes(): boolean {
    return this.#tracker.openCount > 0 || !this.#isResumed;
  }

  /**
   * Records a refused command, if it shows unmet demand. The first refusal of an episode is charged
   * to the audit budget of its address, for the line that the episode will get.
   */
  recordRefusal(decided: MeteredCommand, fault: Fault | StorageFault): void {
    this.#addRefusal(decided, fault, { attempts: 1 });
  }

  /**
   * Records a refused command whose request waits at a place in the queue. The place is in the
   * journal and begins the episode, so its line is charged in any case.
   */
  recordWait(decided: MeteredCommand, fault: Fault | StorageFault): void {
    this.#addRefusal(decided, fault, { attempts: 1, hasPlace: true });
  }

  /** Records that a request was refused which had waited: it is the same attempt as before. */
  recordRefusalAfterWait(decided: MeteredCommand, fault: Fault | StorageFault): void {
    this.#addRefusal(decided, fault, { attempts: 0 });
  }

  #addRefusal(
    { command, at, seq, meter }: MeteredCommand,
    fault: Fault | StorageFault,
    { attempts, hasPlace = false }: { readonly attempts: 0 | 1; readonly hasPlace?: boolean },
  ): void {
    if (!isDemandFault(fault)) return;
    const wanted = this.#store.peek((state) => findDemand(state, command));
    if (wanted === null) return;
    this.resume(at);
    const { demand, peer } = wanted;
    const refusal = { code: fault.code, rule: ruleOf(fault), peer, at, seq, attempts };
    this.#tracker.addRefusal(demand, refusal, () => payForEpisode(meter, demand, at, hasPlace));
    this.#writer.writeIfFull();
  }

  /** Ends the episodes of a command that was granted. */
  endEpisodes({ command, at }: MeteredCommand): void {
    if (!this.#hasOpenEpisodes) return;
    this.resume(at);
    this.#store.peek((state) => this.#endEpisodesIn(state, command, at));
    this.#writer.writeIfFull();
  }

  /** Ends the episodes without a retry, and writes what changed. */
  async tick(): Promise<void> {
    if (!this.#hasOpenEpisodes && this.#tracker.endedCount === 0) return;
    const swept = await this.#store.read((_state, { at }) => {
      this.resume(at);
      this.#tracker.endSilent(at);
    });
    if (swept.ok) await this.#writer.write();
  }

  /** Another host recorded the episodes since: continues those that it left open. */
  restart(): void {
    this.#tracker.clear();
    this.#store.peek((state) => this.#tracker.continue(state));
    this.#isResumed = false;
  }

  /** Writes what changed. */
  write(): Promise<void> {
    return this.#writer.write();
  }

  #endEpisodesIn(state: State, command: Command, at: Instant): void {
    const granted = findDemand(state, command);
    if (granted !== null) return this.#tracker.endEpisode(granted.demand, "granted", at);
    for (const demand of listDemandsLeft(state, command))
      this.#tracker.endEpisode(demand, "left", at);
  }

  /**
   * Checks the open episodes of the last process once. Before the user of the first refusal takes a
   * place, which would look like one of the last process.
   */
  resume(at: Instant): void {
    if (this.#isResumed) return;
    this.#isResumed = true;
    this.#tracker.continueEnded();
    this.#store.peek((state) => {
      this.#tracker.continueWaiting(state, { at, seq: this.#store.status().seq });
      this.#tracker.endGranted(state);
    });
    this.#tracker.endSilent(at);
    this.#tracker.countContinued();
  }
}

/** Whether the address may still add to the audit log. `isDue`: it must pay anyway. */
function payForEpisode(
  meter: AuditMeter | null,
  { product, feature, user }: Demand,
  at: Instant,
  isDue: boolean,
): boolean {
  if (meter === null) return true;
  if (!isDue && meter.checkBudget(at) !== null) return false;
  const names = JSON.stringify([product, feature, user]);
  meter.charge(EPISODE_LINE_BYTES + Buffer.byteLength(names), at);
  return true;
}
