import type { Event } from "../../domain/model/event.ts";
import { findNextDispatchAt } from "../../domain/views/queue-view.ts";
import type { State } from "../../domain/model/state.ts";
import { later, type Instant, SECOND } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StoreObserver } from "../../store/store-options.ts";
import { DispatchTimer } from "./dispatch-timer.ts";
import { PlaceContacts, type ContactChange } from "./place-contacts.ts";
import type { PendingRequest } from "./waiting-request.ts";
import { WaitingRequests } from "./waiting-requests.ts";
import { findQueueRules } from "../../domain/queue/queue-rules.ts";
import type { Store } from "../../store/store.ts";

/** So many are decided in a few milliseconds; other requests wait no longer than that. */
const CHANGES_PER_STEP = 200;
const RETRIES_PER_STEP = 50;
/** After a storage fault, the free slots are given so much later. */
const STORAGE_RETRY_MS = 1_000;

/** A command that parks users under limits takes as long as so many others. */
const WORK_OF_PARKING = 20;
/** Lapsed users that one command names: it removes one of them. */
const LAPSED_PER_COMMAND = 8;

/**
 * Gives free slots to users who wait, after each event that may free one, and by one timer. It does
 * nothing for a product that no user waits for.
 */
export class QueueDispatcher implements StoreObserver {
  readonly requests = new WaitingRequests();
  readonly #contacts = new Map<string, PlaceContacts>();
  readonly #timer = new DispatchTimer(() => this.#dispatchAll());
  #options: QueueDispatcherOptions | null = null;
  /** The state whose places have contacts: after a disk error, another one is read. */
  #knownState: State | null = null;
  /** Products with a change since their last dispatch. */
  readonly #changed = new Set<string>();
  /** Of them, those with more changes than a step has: other requests are served first. */
  readonly #unfinished = new Set<string>();
  /** Requests whose wait ends with another attempt, in the order of the events. */
  readonly #retries = new Set<PendingRequest>();
  /** Requests whose wait ends without one. */
  readonly #refusals = new Set<PendingRequest>();
  #isStepPlanned = false;
  #isLaterStepPlanned = false;
  #hasStorageFault = false;
  /** Another host of a pair leads: it gives the slots. */
  #isPaused = false;
  #changeCount = 0;

  /** How often a place changed since the start. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Before this, nothing is given: a command that opens the data folder only reads it. */
  attach(options: QueueDispatcherOptions): void {
    this.#options = options;
  }

  /** Gives the slots that came free while the server was stopped. Every place has a full term. */
  start(): void {
    this.#isPaused = false;
    this.#knownState = null;
    this.#dispatchAll();
  }

  /** Gives nothing until the next start. Requests that wait are the caller's to end. */
  pause(): void {
    this.#isPaused = true;
    this.#timer.stop();
    for (const products of [this.#changed, this.#unfinished]) products.clear();
    for (const requests of [this.#retries, this.#refusals]) requests.clear();
  }

  stop(): void {
    this.#timer.stop();
    this.#options = null;
  }

  /**
   * Gives the free slots of the product to users who wait. True: after it, a free slot is one that
   * none of them may have. False: there is more to do, which other requests must not wait for.
   */
  dispatch(product: string): boolean {
    if (this.#isPaused) return true;
    this.#changed.delete(product);
    this.#unfinished.delete(product);
    for (let work = 0; work < CHANGES_PER_STEP;) {
      const done = this.#dispatchOne(product);
      if (done === 0) return true;
      work += done;
    }
    this.#unfinished.add(product);
    this.#planLaterStep();
    return false;
  }

  /** Like `dispatch`, but does nothing for a product that has more changes than a step. */
  isSettled(product: string): boolean {
    return !this.#unfinished.has(product) && this.dispatch(product);
  }

  /** The time of the request is over. Many may end at once: others are served between them. */
  endWait(request: PendingRequest): void {
    this.#retries.add(request);
    this.#planLaterStep();
  }

  touch(product: string, user: string, change: ContactChange = "touch"): void {
    const { contactClock } = this.#options ?? {};
    if (contactClock === undefined || this.requests.isConnected(product, user)) return;
    this.#contactsOf(product)[change](user, contactClock());
  }

  /** A request of the user begins to wait: constant contact. */
  connect(product: string, user: string): void {
    this.#contacts.get(product)?.forget(user);
  }

  /** The user was in contact, if it has a place: a request waits no longer, or is answered. */
  touchPlace(product: string, user: string, change: ContactChange = "touch"): void {
    const queue = this.#options?.store.peek(({ queues }) => queues.get(product));
    if (queue?.get(user) !== undefined) this.touch(product, user, change);
  }

  /** When the place ends without a request; null: a request is waiting. */
  findPlaceEnd(state: State, product: string, user: string, at: Instant): Instant | null {
    const lastContact = this.#contacts.get(product)?.lastContactOf(user) ?? null;
    if (lastContact === null || this.#options === null) return null;
    const silentMs = this.#options.contactClock() - lastContact;
    return later(at, holdMsOf(state, product) - Math.round(silentMs));
  }

  /** Not called for lines of the other host of a pair: the host that leads gives the slots. */
  applied(events: readonly Event[], state: State): void {
    if (this.#isPaused) return;
    if (state.queues.size === 0 && this.#contacts.size === 0 && this.requests.size === 0) return;
    for (const event of events) this.#observe(event, state);
  }

  durable(): void {}

  #observe(event: Event, state: State): void {
    if (!canFreeSlot(event)) return;
    switch (event.type) {
      case "PlaceTaken":
        this.touch(event.product, event.user);
        break;
      case "HoldGiven":
        this.touch(event.product, event.user, "offer");
        this.#endWaits(event.product, event.user, "retry");
        break;
      case "PlaceLeft": {
        const { product, user, cause } = event;
        this.#contacts.get(product)?.forget(user);
        // A retry could take a slot that the user has just given back.
        this.#endWaits(product, user, cause === "unregistered" ? "refuse" : "retry");
        if (!state.queues.get(product)) this.#contacts.delete(product);
        break;
      }
      case "LeaderChanged":
        // Contacts with the host that led before are not known here.
        this.#knownState = null;
        break;
      case "MovedAway":
        // This host grants nothing any more: callers must be sent to the other one.
        for (const request of this.requests.listAll()) this.#retries.add(request);
        break;
      default:
    }
    if (isPlaceEvent(event)) this.#changeCount += 1;
    for (const product of listProducts(event, state)) this.#changed.add(product);
    // A slot of any product counts for the caps of the settings.
    for (const product of state.queues.takeOpenedCaps()) this.#changed.add(product);
    this.#planStep();
  }

  /** The waits end after the current command: its own reply must not see what they change. */
  #endWaits(product: string, user: string, how: "retry" | "refuse"): void {
    const ending = how === "retry" ? this.#retries : this.#refusals;
    for (const request of this.requests.listOf(product, user)) ending.add(request);
  }

  #planStep(): void {
    if (this.#isStepPlanned) return;
    this.#isStepPlanned = true;
    queueMicrotask(() => {
      this.#isStepPlanned = false;
      this.#runStep();
    });
  }

  /** What is left of a step is done after other requests were served. */
  #planLaterStep(): void {
    if (this.#isLaterStepPlanned) return;
    this.#isLaterStepPlanned = true;
    void runBetweenRequests(() => {
      this.#isLaterStepPlanned = false;
      for (const product of this.#unfinished) this.#changed.add(product);
      this.#unfinished.clear();
      this.#runStep();
    });
  }

  #runStep(): void {
    if (this.#isPaused) return;
    // A dispatch removes its product, and adds it again if it changed anything.
    for (const product of this.#changed) {
      if (!this.#unfinished.has(product)) this.dispatch(product);
    }
    for (const request of this.#refusals) request.refuse();
    this.#refusals.clear();
    this.#runRetries();
    this.#planTimer();
  }

  #runRetries(): void {
    // Each retry is an event that plans a step, which must not take the turn of other requests.
    if (this.#isLaterStepPlanned) return;
    let count = 0;
    for (const request of this.#retries) {
      if (count === RETRIES_PER_STEP) return this.#planLaterStep();
      count += 1;
      this.#retries.delete(request);
      try {
        request.retry();
      } catch (error) {
        log.error("a request could not stop waiting for a slot", { error });
        request.refuse();
      }
    }
  }

  #dispatchAll(): void {
    const { store } = this.#options ?? {};
    if (store === undefined) return;
    for (const { product } of store.peek(({ queues }) => queues)) this.#changed.add(product);
    this.#runStep();
  }

  /** How many changes of a place it is worth; 0: there was nothing to do. */
  #dispatchOne(product: string): number {
    if (this.#options === null) return 0;
    const { store, contactClock } = this.#options;
    const state = store.peek((current) => current);
    if (state !== this.#knownState) this.#reconcileContacts(state);
    if (state.queues.get(product) === undefined) return 0;
    const silentSince = contactClock() - holdMsOf(state, product);
    const lapsed =
      this.#contacts.get(product)?.listSilentSince(silentSince, LAPSED_PER_COMMAND) ?? [];
    let work = 0;
    const command = { type: "Dispatch" as const, product, lapsed };
    const { fault, pendingResult } = store.decide(command, (_state, { change }) => {
      if (change !== null) work = change.kind === "parked" ? WORK_OF_PARKING : 1;
    });
    pendingResult.catch((error: unknown) =>
      log.error("could not give free slots to the queue", { error }),
    );
    this.#hasStorageFault = fault !== null;
    return work;
  }

  /** Every place without a known contact gets a full term. */
  #reconcileContacts(state: State): void {
    this.#knownState = state;
    this.#contacts.clear();
    for (const queue of state.queues) {
      for (const { user } of queue.places) this.touch(queue.product, user);
    }
    // The timer was planned for the state before.
    this.#planStep();
  }

  #contactsOf(product: string): PlaceContacts {
    let contacts = this.#contacts.get(product);
    if (contacts === undefined) this.#contacts.set(product, (contacts = new PlaceContacts()));
    return contacts;
  }

  #planTimer(): void {
    if (this.#options === null) return;
    const { store, now, contactClock } = this.#options;
    const state = store.peek((current) => current);
    const at = now();
    let delay = Infinity;
    for (const { product } of state.queues) {
      const lastContact = this.#contacts.get(product)?.earliestContact() ?? null;
      if (lastContact !== null) {
        delay = Math.min(delay, lastContact + holdMsOf(state, product) - contactClock());
      }
      const nextAt = findNextDispatchAt(state, product, { at });
      // What neither of them knows is noticed with the longest delay of the timer.
      delay = Math.min(delay, nextAt === null ? Number.MAX_SAFE_INTEGER : nextAt - at);
    }
    this.#timer.plan(this.#hasStorageFault ? Math.max(delay, STORAGE_RETRY_MS) : delay);
  }
}

/** How long a place lasts without contact, and a slot is held for it. */
const holdMsOf = (state: State, product: string): number =>
  findQueueRules(state, product).holdSeconds * SECOND;

interface QueueDispatcherOptions {
  readonly store: Store;
  /** Appliance time: slots end by it. */
  readonly now: () => Instant;
  /** Milliseconds of a clock that never jumps: places lapse by it. */
  readonly contactClock: () => number;
}

/** After these events no user can get a slot that it could not get before. */
const IRRELEVANT_EVENTS: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "ContactChanged",
  "FeatureTaken",
  "FeatureRenewed",
  "FeatureReleased",
  "FeatureExpired",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
  "ClockMarked",
  "RefusalsCounted",
  "EpisodesObserved",
  "EpisodeEnded",
]);

/** Whether a waiting user may get a slot after this event that it could not get before. */
const canFreeSlot = (event: Event): boolean =>
  event.type === "SlotRenewed"
    ? // A holder at another address leaves the cap of the address before.
      event.contact !== undefined
    : !IRRELEVANT_EVENTS.has(event.type);

/** Whether the event is about a place in a queue. */
const isPlaceEvent = ({ type }: Event): boolean =>
  type === "PlaceTaken" ||
  type === "PlaceLeft" ||
  type === "PlaceMoved" ||
  type === "HoldGiven" ||
  type === "HoldWithdrawn";

/** The products with places whose free slots the event may change. */
function listProducts(event: Event, { queues, licenses }: State): string[] {
  const product =
    "product" in event && typeof event.product === "string"
      ? event.product
      : "license" in event
        ? licenses.get(event.license)?.terms.product
        : undefined;
  if (product !== undefined) return queues.get(product) === undefined ? [] : [product];
  return [...queues].map((queue) => queue.product);
}
