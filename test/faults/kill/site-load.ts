// The clients of one data folder and what they expect of it, from run to run of its server.
import { consumptionTerms, featureTerms } from "../../support/scenario.ts";
import { COUNTING_FEATURE, FLOATING_FEATURE, PRODUCT, type ServerRun } from "./calls.ts";
import { KillClient } from "./client.ts";
import { ExpectedState } from "./expected-state.ts";
import { readRepeatedly, reconcileAfterRestart } from "./readers.ts";
import type { KillResults } from "./results.ts";

export const CLIENTS = 12;
const USERS_PER_CLIENT = 4;
/** Fewer slots than users, so that some calls are refused. */
const SLOTS = 40;
const FEATURE_SLOTS = 20;

/** A license for all the calls, of which nothing expires while a suite runs. */
export const LOAD_TERMS = {
  product: PRODUCT,
  slots: SLOTS,
  timeoutMinutes: 24 * 60,
  borrowHours: 1_000,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms(FLOATING_FEATURE, {
      floating: { slots: FEATURE_SLOTS, timeoutMinutes: 24 * 60 },
    }),
    featureTerms(COUNTING_FEATURE, { consumption: consumptionTerms({ max: null }) }),
  ],
};

export class SiteLoad {
  readonly expectedState: ExpectedState;
  readonly #clients: readonly KillClient[];
  readonly #results: KillResults;

  constructor(results: KillResults, random: () => number) {
    this.#results = results;
    const getExpectedState = (): ExpectedState => this.expectedState;
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, index) => new KillClient(index, USERS_PER_CLIENT, getExpectedState, results, random),
    );
    this.expectedState = new ExpectedState(this.#clients.flatMap(({ users }) => users));
  }

  /** Sends calls of the first `count` clients, and reads, until the run ends. */
  async send(run: ServerRun, count = CLIENTS): Promise<void> {
    const clients = this.#clients.slice(0, count).map((client) => client.run(run));
    await Promise.all([...clients, readRepeatedly(run, this.expectedState, this.#results)]);
  }

  /** After a start, compares what the server shows; false: it did not answer. */
  reconcile(run: ServerRun): Promise<boolean> {
    return reconcileAfterRestart(run, this.expectedState, this.#results, (which, counted) => {
      for (const client of this.#clients) client.reconcileCount(which, counted);
    });
  }
}
