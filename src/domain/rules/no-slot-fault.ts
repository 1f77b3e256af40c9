import type { Fault } from "../fault.ts";
import type { State } from "../state.ts";
import type { Instant } from "../time.ts";
import { hasRoomFor, listIdleReservations, type PoolName } from "./judge-claim.ts";

interface PoolSituation {
  /** Slots of the licenses that the caller could have a slot of. */
  readonly slots: number;
  /** Free slots of the pool. */
  readonly free: number;
  /** The reserved group of the caller; null: none. */
  readonly home: string | null;
}

/** The refusal of a caller for whom no slot is free. */
export function makeNoSlotFault(
  state: State,
  pool: PoolName,
  { slots, free, home }: PoolSituation,
  at: Instant,
): Fault {
  // Floating features have no queue.
  const queue = pool.feature === null ? state.queues.get(pool.product) : undefined;
  const idle = listIdleReservations(state, pool, at);
  const reserved =
    free > 0
      ? idle
          .filter(({ group, acting }) => acting === "keep" && group !== home)
          .map(({ group, idleSlots, line }) => ({ group, slots: idleSlots, line }))
      : [];
  const isLent = idle.some(({ group, acting }) => group === home && acting === "lend");
  return {
    code: "floating_not_available",
    slots,
    reserved,
    holds: queue?.heldCount ?? 0,
    waiting: queue?.waitingCount ?? 0,
    // With room, the caller wants a slot of a certain license, which a recall does not free.
    ...(isLent && home !== null && !hasRoomFor(state, pool, home, free, at) && { recall: home }),
  };
}
