// An action under way: commands of the rules change a state of its own, and each of their events is
// held against the promises.
import type { Command, OutcomeOf } from "../../../src/domain/decide.ts";
import type { Event, SlotBorrowed } from "../../../src/domain/model/event.ts";
import type { Fault } from "../../../src/domain/model/fault.ts";
import type { Result } from "../../../src/domain/result.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { earliest, later, latest, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { MONDAY } from "../../support/scenario.ts";
import { describeUsers, makeKey } from "./key.ts";
import { NaiveSite } from "./naive-site.ts";
import { checkGrant, checkLease, checkReturn, checkWorld } from "./promises.ts";
import { dropEndedPromises, readPlaces } from "./promises.ts";
import {
  buildState,
  contextOf,
  getLicense,
  LONGEST_BORROW,
  PRODUCT,
  START_EVENTS,
  type BorrowPromise,
  type Clock,
  type SiteWorld,
} from "./world.ts";

export class Action {
  readonly state: State;
  readonly model: NaiveSite;
  readonly #events: Event[];
  clock: Clock;
  promises: readonly BorrowPromise[];
  renewals: number;

  constructor({ events, clock, promises, renewals }: SiteWorld) {
    this.state = buildState(events);
    this.model = new NaiveSite(this.state, clock);
    this.#events = [...events];
    this.clock = clock;
    this.promises = promises;
    this.renewals = renewals;
  }

  run<C extends Command>(command: C): Result<OutcomeOf<C>, Fault> {
    const { state } = this;
    const places = readPlaces(state);
    const result = transact(state, command, contextOf(this.clock));
    if (!result.ok) return result;
    const { journalLines, outcome } = result.value;
    for (const event of journalLines.flat()) {
      this.#events.push(event);
      checkGrant(event, places, this, state);
      if (event.type === "SlotBorrowed") this.#promiseBorrow(event);
      if (event.type === "SlotReleased") this.#release(event.user);
    }
    const isCall = command.type === "Register" || command.type === "Borrow";
    if (isCall && command.nonceDigest !== null && command.user !== null)
      this.#signLease(command.user, command.nonceDigest);
    return { ok: true, value: outcome };
  }

  #promiseBorrow({ user, early, until }: SlotBorrowed): void {
    const before = this.#findPromise(user);
    if (early) checkReturn(user, this, this.state);
    const leases: Record<string, Instant> = {};
    for (const [device, end] of Object.entries(before?.leases ?? {}))
      leases[device] = early ? earliest(end, until) : end;
    const promised = early ? until : latest(until, before?.until ?? until);
    this.#setPromise({ user, until: promised, leases });
  }

  /** The reply has a lease for the device that called, which lasts as long as a borrow. */
  #signLease(user: string, device: string): void {
    const { at } = this.clock;
    const until = getLicense(this.state).pool.get(user)?.borrowedUntil ?? at;
    const promise = this.#findPromise(user);
    if (until <= at || promise === undefined) return;
    checkLease(user, device, this);
    const end = earliest(until, later(at, LONGEST_BORROW));
    const leases = { ...promise.leases, [device]: latest(end, promise.leases[device] ?? end) };
    this.#setPromise({ ...promise, leases });
  }

  #findPromise(user: string): BorrowPromise | undefined {
    return this.promises.find((promise) => promise.user === user);
  }

  #setPromise(promise: BorrowPromise): void {
    this.promises = [...this.promises.filter(({ user }) => user !== promise.user), promise];
  }

  /** Without early return, a borrow that lapsed by a wrong clock is restored all the same. */
  #release(user: string): void {
    checkReturn(user, this, this.state);
    if (getLicense(this.state).terms.earlyReturn)
      this.promises = this.promises.filter((promise) => promise.user !== user);
  }

  /** Gives free slots to users who wait, until nothing is left to do. */
  dispatch(lapsed: readonly string[] = []): void {
    while (this.state.queues.size > 0) {
      const result = this.run({ type: "Dispatch", product: PRODUCT, lapsed });
      if (!result.ok || result.value.change === null) break;
    }
    this.model.dispatch(lapsed, this.clock.at);
  }

  requireSameAsModel(): void {
    this.model.requireSame(this.state, this.clock);
  }

  finish(): SiteWorld {
    const { clock, renewals } = this;
    const promises = dropEndedPromises(this);
    return makeWorld({ events: this.#events, clock, renewals, promises }, this.state);
  }
}

function makeWorld(world: Omit<SiteWorld, "key">, state: State): SiteWorld {
  checkWorld(world, state);
  return { ...world, key: makeKey(world, state, describeUsers(world, state)) };
}

export function makeStart(): SiteWorld {
  const clock = { at: MONDAY, ahead: 0, isCorrected: false, jumpCount: 0 };
  const world = { events: START_EVENTS, clock, renewals: 0, promises: [] };
  return makeWorld(world, buildState(START_EVENTS));
}
