import type { Fault } from "../../domain/model/fault.ts";
import { findPlace } from "../../domain/queue/holds.ts";
import type { TakePlace } from "../../domain/queue/dispatch/take-place.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Register } from "../../domain/slots/register.ts";
import type { State } from "../../domain/model/state.ts";
import { SECOND } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import {
  flattenResult,
  type CommandResult,
  type CommandRunner,
  type DecidedCommand,
  type OperationResult,
  type OutcomeView,
} from "../command-runner.ts";
import { findInstalled, isDemandFault, ruleOf } from "../demand/demand-of-command.ts";
import type { QueueDispatcher } from "./queue-dispatcher.ts";
import { QueueList, type QueueConversion } from "./queue-list.ts";
import { viewOwnPlace, type Estimator, type OwnPlace } from "./queue-views.ts";
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

/** A claim of a slot that can be decided again, and the command that waits for the slot instead. */
interface WaitingClaim<T> {
  readonly command: Register;
  readonly view: OutcomeView<Register, T>;
  readonly place: TakePlace;
}

export interface WaitedResult<T> {
  readonly result: CommandResult<T>;
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

  /** Claims a slot. If none is free, or a limit refuses the claim, waits for its turn. */
  async claimSlot<T>(claim: WaitingClaim<T>, patience: Patience): Promise<WaitedResult<T>> {
    const { product, pendingResult } = await this.runClaim(claim.place.product, async () =>
      this.#beginClaim(claim, patience),
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

  /**
   * The queues of all products that users wait for, or of one, each followed by its places; in
   * steps between which other requests are served.
   */
  async *listInSteps<T>(
    product: string | null,
    convert: QueueConversion<T>,
  ): AsyncGenerator<CommandResult<readonly T[]>, void> {
    const sources = { estimator: this.#estimator, dispatcher: this.#dispatcher };
    const begin = ({ queues, products }: State): Result<QueueList<T>, Fault> => {
      if (product !== null && !products.has(product)) return err({ code: "unknown_product" });
      const names = product === null ? [...queues].map((queue) => queue.product) : [product];
      return ok(new QueueList(names, convert, sources));
    };
    let list: Result<QueueList<T>, Fault> | null = null;
    do {
      const { reading } = await runBetweenRequests(() => ({
        reading: this.#store.read((state, context): Result<readonly T[], Fault> => {
          list ??= begin(state);
          return list.ok ? ok(list.value.runStep(state, context)) : list;
        }),
      }));
      const step = flattenResult(await reading);
      yield step;
      if (!step.ok) return;
    } while (!isComplete(list));
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
    return this.#commands.runCommand(command, null, () => product);
  }

  /** Returns the product of the place. */
  drop(place: ChangedPlace): OperationResult<string> {
    const product = this.#findProduct(place.product) ?? "";
    const command = { type: "DropPlace" as const, ...place, product };
    return this.#commands.runCommand(command, null, () => product);
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
  #beginClaim<T>(claim: WaitingClaim<T>, patience: Patience): BegunClaim<T> {
    const first = this.#decideClaim(claim);
    const { fault, seq } = first;
    const product = fault === null ? null : this.#takePlace(claim.place, fault, seq);
    // Without a place, the reply is the one of a request that does not want to wait.
    if (fault === null || product === null)
      return { product: null, pendingResult: this.#finishClaim(first) };
    const user = claim.place.user ?? "";
    this.#dispatcher.touch(product, user);
    this.#commands.recordWait(first);
    const pendingResult =
      patience.seconds > 0 && this.#canWait(product, user)
        ? // Only the fault is kept of the first decision: a request that waits must be small.
          this.#waitForSlot(claim, product, fault, patience)
        : this.#finishAtPlace(first);
    return { product, pendingResult };
  }

  #decideClaim<T>({ command, view, place }: WaitingClaim<T>): DecidedCommand<T> {
    return this.#commands.decideCommand(command, place.peer, view);
  }

  /** Of a refused claim. The product of the place; null: its user cannot wait. */
  #takePlace(place: TakePlace, fault: Fault | StorageFault, seq: number): string | null {
    const { user } = place;
    if (!isDemandFault(fault) || user === null) return null;
    let product: string | null = null;
    const command = { ...place, denied: { code: fault.code, rule: ruleOf(fault), seq } };
    this.#commands
      .decideCommand(command, place.peer, (_state, outcome) => {
        if (outcome.place !== null) product = outcome.product;
      })
      .pendingResult.then(
        (result) => result.ok || this.#endWaits(product, user),
        (error: unknown) => {
          log.error("could not take a place in a queue", { error });
          this.#endWaits(product, user);
        },
      );
    return product;
  }

  async #finishClaim<T>(decided: DecidedCommand<T>): OperationResult<T> {
    const result = await decided.pendingResult;
    this.#commands.countOutcome(decided, result);
    return result;
  }

  /** Replies to a refused claim whose user has a place, but whose request does not wait. */
  async #finishAtPlace<T>({ command, pendingResult }: DecidedCommand<T>): OperationResult<T> {
    const result = await pendingResult;
    if (!result.ok) this.#commands.countRefusal(command, result.fault);
    return result;
  }

  async #waitForSlot<T>(
    claim: WaitingClaim<T>,
    product: string,
    fault: Fault | StorageFault,
    { seconds, signal, isStillAdmitted, beginWait }: Patience,
  ): OperationResult<T> {
    const user = claim.place.user ?? "";
    const request = new WaitingRequest<DecidedCommand<T>>({
      product,
      user,
      signal,
      retry: () => {
        // While others could get a free slot first, this one must not take it.
        const isTurn = this.#hasHold(product, user) || this.#dispatcher.isSettled(product);
        return isTurn && isStillAdmitted() ? this.#decideClaim(claim) : null;
      },
      onTimeout: this.#onTimeout,
      onEnd: this.#onEnd,
    });
    this.#dispatcher.requests.add(request);
    this.#dispatcher.connect(product, user);
    const endWait = beginWait();
    const last = await request.wait(seconds * SECOND);
    endWait();
    if (last === null) {
      this.#commands.countRefusal(claim.command, fault);
      return err(fault);
    }
    const result = await last.pendingResult;
    this.#commands.countAfterWait(last, result);
    return result;
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

interface BegunClaim<T> {
  /** The product that the user waits for; null: the user cannot wait. */
  readonly product: string | null;
  /** After the wait, if there is one. */
  readonly pendingResult: OperationResult<T>;
}

/** A refusal before the place was taken does not count the caller among those who wait. */
const countCaller = <T>(result: CommandResult<T>, { length }: OwnPlace): CommandResult<T> =>
  !result.ok && result.fault.code === "floating_not_available"
    ? err({ ...result.fault, waiting: length })
    : result;

const hasNoPlaces = ({ queues }: State): boolean => queues.size === 0;

const isComplete = <T>(list: Result<QueueList<T>, Fault> | null): boolean =>
  list?.ok === true && list.value.isComplete;
