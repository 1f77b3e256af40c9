import type { Fault } from "../../domain/model/fault.ts";
import { findPlace } from "../../domain/queue/holds.ts";
import type { TakePlace } from "../../domain/queue/dispatch/take-place.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { State } from "../../domain/model/state.ts";
import { SECOND } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import {
  flattenResult,
  type Attempt,
  type CommandRunner,
  type OperationResult,
} from "../command-runner.ts";
import { findInstalled, isDemandFault, ruleOf } from "../demand/demand-of-command.ts";
import type { QueueDispatcher } from "./queue-dispatcher.ts";
import {
  viewOwnPlace,
  viewWaitingQueue,
  type Estimator,
  type OwnPlace,
  type WaitingQueue,
} from "./queue-views.ts";
import { WaitingRequest, type PendingRequest } from "./waiting-request.ts";

/** More waiting requests than this are answered at once; their places count. */
const MAX_WAITING_REQUESTS = 20_000;
/** They share a place, which its caller's maximum counts once. */
const MAX_WAITING_REQUESTS_OF_USER = 10;

/** How long a request wants to wait, and whether its caller is still there. */
export interface Patience {
  readonly seconds: number;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Whether the caller may still use the server: a token can be revoked meanwhile. */
  readonly isStillAdmitted: () => boolean;
  /** Called when the request begins to wait, and what it returns when the wait ends. */
  readonly beginWait: () => () => void;
}

/** A claim of a slot that can be tried again, and the command that waits for the slot instead. */
export interface WaitingClaim<T> {
  readonly attempt: () => Attempt<T>;
  /** Counts the refusal, and returns it as the result. */
  readonly refuse: (fault: Fault | StorageFault) => OperationResult<T>;
  readonly place: TakePlace;
}

export interface WaitedResult<T> {
  readonly result: Result<T, Fault | StorageFault>;
  /** The caller's place after a refusal; null: there is none. */
  readonly place: OwnPlace | null;
}

interface ChangedPlace {
  /** Null: the only product that is installed. */
  readonly product: string | null;
  readonly user: string;
  readonly peer: string;
}

export interface QueueSummary {
  /** How often a place changed since the start. */
  readonly changes: number;
  readonly products: readonly {
    readonly product: string;
    readonly waitingCount: number;
    readonly heldCount: number;
  }[];
}

interface SlotQueueParts {
  readonly store: Store;
  readonly commands: CommandRunner;
  readonly dispatcher: QueueDispatcher;
  readonly estimator: Estimator;
}

/** The users who wait for a slot. */
export class SlotQueue {
  readonly #store: Store;
  readonly #commands: CommandRunner;
  readonly #dispatcher: QueueDispatcher;
  readonly #estimator: Estimator;
  #isStopping = false;

  constructor({ store, commands, dispatcher, estimator }: SlotQueueParts) {
    this.#store = store;
    this.#commands = commands;
    this.#dispatcher = dispatcher;
    this.#estimator = estimator;
  }

  /** Runs a claim of a slot after the users who wait had their chance: nearly always at once. */
  runClaim<T>(product: string | null, claim: () => Promise<T>): Promise<T> {
    if (this.#store.peek(hasNoPlaces)) return claim();
    const name = this.#findProduct(product);
    if (name === null || this.#dispatcher.dispatch(name)) return claim();
    return runBetweenRequests(() => null).then(() => this.runClaim(product, claim));
  }

  /** Tries a claim. If no slot is free, or a limit refuses it, waits for its turn. */
  async claim<T>(claim: WaitingClaim<T>, patience: Patience): Promise<WaitedResult<T>> {
    const { product, pendingResult } = await this.runClaim(claim.place.product, async () =>
      this.#try(claim, patience),
    );
    const result = await pendingResult;
    if (product === null || result.ok) return { result, place: null };
    // The place is on the other host now.
    if (result.fault.code === "moved_away") return { result, place: null };
    const user = claim.place.user ?? "";
    // After a slow disk, the term of the place begins with the reply.
    if (!patience.signal.aborted) this.#dispatcher.touchPlace(product, user);
    const view = await this.#store.read((state, context) =>
      viewOwnPlace(state, product, user, context, this.#estimator),
    );
    // The refusal was decided with changes that may not be on disk.
    if (!view.ok) return { result: view, place: null };
    const { value: place } = view;
    return { result: place === null ? result : countCaller(result, place), place };
  }

  /** The products that users wait for; of one product, if it is given. */
  async list(product: string | null): OperationResult<WaitingQueue[]> {
    return flattenResult(
      await this.#store.read((state, context): Result<WaitingQueue[], Fault> => {
        if (product !== null && !state.products.has(product))
          return err({ code: "unknown_product" });
        const products =
          product === null ? [...state.queues].map((queue) => queue.product) : [product];
        const view = (name: string) =>
          viewWaitingQueue(state, name, context, this.#estimator, this.#dispatcher);
        return ok(
          products
            .toSorted()
            .map(view)
            .filter((queue) => queue !== null),
        );
      }),
    );
  }

  /** Figures for the status. */
  summarize(): QueueSummary {
    const products = this.#store.peek(({ queues }) =>
      [...queues].map(({ product, waitingCount, heldCount }) => ({
        product,
        waitingCount,
        heldCount,
      })),
    );
    return { changes: this.#dispatcher.changeCount, products };
  }

  /** Returns the product of the place. */
  moveToFront(place: ChangedPlace): OperationResult<string> {
    const product = this.#findProduct(place.product) ?? "";
    const command = { type: "MovePlace" as const, ...place, product };
    return this.#commands.run(command, null, () => product);
  }

  /** Returns the product of the place. */
  drop(place: ChangedPlace): OperationResult<string> {
    const product = this.#findProduct(place.product) ?? "";
    const command = { type: "DropPlace" as const, ...place, product };
    return this.#commands.run(command, null, () => product);
  }

  /** Gives the slots that came free while the server was stopped. */
  start(): void {
    this.#dispatcher.start();
  }

  /** Another host leads: gives nothing, and answers all waiting requests. Their places stay. */
  pause(): void {
    this.#dispatcher.pause();
    for (const request of this.#dispatcher.requests.listAll()) request.retry();
  }

  /** Answers all waiting requests. Their places stay. */
  stop(): void {
    this.#isStopping = true;
    for (const request of this.#dispatcher.requests.listAll()) request.retry();
  }

  /**
   * Claims, takes a place and begins to wait in one step: no other claim is decided between them,
   * and a slot that is held for the place at once finds the waiting request.
   */
  #try<T>(claim: WaitingClaim<T>, patience: Patience): FirstTry<T> {
    const { attempt, place } = claim;
    const first = attempt();
    const { user } = place;
    if (first.fault === null || !isDemandFault(first.fault) || user === null)
      return { product: null, pendingResult: first.count() };
    let product: string | null = null;
    const denied = { code: first.fault.code, rule: ruleOf(first.fault), seq: first.seq };
    this.#commands
      .attempt({ ...place, denied }, place.peer, (_state, outcome) => {
        if (outcome.place !== null) product = outcome.product;
      })
      .pendingResult.then(
        (result) => result.ok || this.#endWaits(product, user),
        (error: unknown) => {
          log.error("could not take a place in a queue", { error });
          this.#endWaits(product, user);
        },
      );
    // Without a place, the reply is the one of a request that does not want to wait.
    if (product === null) return { product, pendingResult: first.count() };
    this.#dispatcher.touch(product, user);
    return { product, pendingResult: this.#waitAndCount(claim, product, first, patience) };
  }

  #waitAndCount<T>(
    claim: WaitingClaim<T>,
    product: string,
    first: Attempt<T>,
    { seconds, signal, isStillAdmitted, beginWait }: Patience,
  ): OperationResult<T> {
    // Only its fault is kept: a request that waits must be small.
    const { fault } = first;
    first.recordWait();
    const { place, attempt, refuse } = claim;
    const user = place.user ?? "";
    if (seconds === 0 || fault === null || !this.#canWait(product, user)) return first.count(true);
    const request = new WaitingRequest<Attempt<T>>({
      product,
      user,
      signal,
      retry: () => {
        // While others could get a free slot first, this one must not take it.
        const isTurn = this.#hasHold(product, user) || this.#dispatcher.isSettled(product);
        return isTurn && isStillAdmitted() ? attempt() : null;
      },
      onTimeout: this.#onTimeout,
      onEnd: this.#onEnd,
    });
    this.#dispatcher.requests.add(request);
    this.#dispatcher.connect(product, user);
    const endWait = beginWait();
    return request.wait(seconds * SECOND).then((last) => {
      endWait();
      return last === null ? refuse(fault) : last.count(true);
    });
  }

  #canWait(product: string, user: string): boolean {
    const { requests } = this.#dispatcher;
    return (
      !this.#isStopping &&
      requests.size < MAX_WAITING_REQUESTS &&
      requests.listOf(product, user).length < MAX_WAITING_REQUESTS_OF_USER
    );
  }

  readonly #onTimeout = (request: PendingRequest): void => this.#dispatcher.endWait(request);

  readonly #onEnd = (request: PendingRequest, change: "touch" | "leave"): void => {
    this.#dispatcher.requests.remove(request);
    this.#dispatcher.touchPlace(request.product, request.user, change);
  };

  /** A place that could not be written does not exist. */
  #endWaits(product: string | null, user: string): void {
    if (product === null) return;
    for (const request of this.#dispatcher.requests.listOf(product, user)) request.refuse();
  }

  #findProduct(product: string | null): string | null {
    return this.#store.peek((state) => findInstalled(state, product, null).product);
  }

  #hasHold(product: string, user: string): boolean {
    return this.#store.peek((state) => findPlace(state, product, user)?.hold != null);
  }
}

interface FirstTry<T> {
  /** The product that the user waits for; null: the user cannot wait. */
  readonly product: string | null;
  /** After the wait, if there is one. */
  readonly pendingResult: OperationResult<T>;
}

/** A refusal before the place was taken does not count the caller among those who wait. */
const countCaller = <T>(
  result: WaitedResult<T>["result"],
  { length }: OwnPlace,
): WaitedResult<T>["result"] =>
  !result.ok && result.fault.code === "floating_not_available"
    ? err({ ...result.fault, waiting: length })
    : result;

const hasNoPlaces = ({ queues }: State): boolean => queues.size === 0;
