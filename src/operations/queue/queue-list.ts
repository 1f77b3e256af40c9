import type { RuleContext } from "../../domain/model/rule-context.ts";
import type { State } from "../../domain/model/state.ts";
import type { ServedPlace } from "../../domain/queue/dispatch/service-order.ts";
import { listPlaces, summarizeQueue } from "../../domain/views/queue-view.ts";
import { beginStep } from "../../platform/schedule/yield-to-requests.ts";
import type { QueueDispatcher } from "./queue-dispatcher.ts";
import {
  viewWaitingPlace,
  type Estimator,
  type WaitingPlace,
  type WaitingQueue,
} from "./queue-views.ts";

/** What becomes of a queue, and of each of its places, which follow it. */
export interface QueueConversion<T> {
  readonly queue: (queue: WaitingQueue) => T;
  readonly place: (place: WaitingPlace) => T;
}

interface QueueSources {
  readonly estimator: Estimator;
  readonly dispatcher: Pick<QueueDispatcher, "requests" | "findPlaceEnd">;
}

/**
 * Lists queues in steps. A queue has the order of the step that begins it; each of its places is as
 * it is in its own step, and one that has ended meanwhile is left out.
 */
export class QueueList<T> {
  readonly #sources: QueueSources;
  readonly #convert: QueueConversion<T>;
  /** The last one is the next one. */
  readonly #products: string[];
  #product = "";
  /** Of the present product; the last one is the next one. */
  #places: ServedPlace[] = [];

  constructor(
    products: Iterable<string>,
    convert: QueueConversion<T>,
    { estimator, dispatcher }: QueueSources,
  ) {
    this.#products = [...products].toSorted().toReversed();
    this.#convert = convert;
    this.#sources = { estimator, dispatcher };
  }

  get isComplete(): boolean {
    return this.#products.length === 0 && this.#places.length === 0;
  }

  runStep(state: State, context: RuleContext): T[] {
    const items: T[] = [];
    const isOver = beginStep();
    do {
      const place = this.#places.pop();
      if (place === undefined) this.#beginQueue(state, context, items);
      else this.#addPlace(state, context, place, items);
    } while (!this.isComplete && !isOver());
    return items;
  }

  #beginQueue(state: State, context: RuleContext, items: T[]): void {
    this.#product = this.#products.pop() ?? "";
    const queue = state.queues.get(this.#product);
    if (queue === undefined) return;
    items.push(this.#convert.queue(summarizeQueue(state, queue)));
    this.#places = listPlaces(state, queue, context).toReversed();
  }

  #addPlace(state: State, context: RuleContext, listed: ServedPlace, items: T[]): void {
    const { estimator, dispatcher } = this.#sources;
    const view = viewWaitingPlace(state, this.#product, listed, context, estimator, dispatcher);
    if (view !== null) items.push(this.#convert.place(view));
  }
}
