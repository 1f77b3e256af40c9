import { serverStatus } from "../status-stream.ts";

interface QueueFigures {
  readonly waiting: number;
  /** Slots that are held until their users collect them. */
  readonly holds: number;
}

/** Of a product now; with an empty name, of all products. */
export function queueFigures(product: string): QueueFigures {
  const products = serverStatus.value?.queue.products ?? [];
  return products
    .filter((one) => product === "" || one.product === product)
    .reduce((sum, one) => ({ waiting: sum.waiting + one.waiting, holds: sum.holds + one.held }), {
      waiting: 0,
      holds: 0,
    });
}

/** Users with a place, also those for whom a slot is held. */
export function countWaiting(product: string): number {
  const { waiting, holds } = queueFigures(product);
  return waiting + holds;
}
