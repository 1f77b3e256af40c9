import type { Fault, ReservedSlots } from "../model/fault.ts";
import type { State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { hasRoomFor, listIdleReservations, type ReservationUse } from "./judge-claim.ts";
import type { PoolName } from "../model/slots/pool-name.ts";
import type { NamedGroup } from "../model/rules/rule-set.ts";

interface PoolSituation {
  /** Slots of the licenses that the caller could have a slot of. */
  readonly slots: number;
  /** Free slots of these licenses; not 0: they are kept for others. */
  readonly freeSlots: number;
  /** Slots of these licenses that are held for users who waited. */
  readonly holds: number;
  /** Free slots of all licenses of the pool. */
  readonly free: number;
  /** The reserved group of the caller; null: none. */
  readonly home: string | null;
}

/** The refusal of a caller for whom no slot is free. */
export function makeNoSlotFault(
  state: State,
  pool: PoolName,
  { slots, freeSlots, holds, free, home }: PoolSituation,
  at: Instant,
): Fault {
  // Floating features have no queue.
  const queue = pool.feature === null ? state.queues.get(pool.product) : undefined;
  const idle = listIdleReservations(state, pool, at);
  const keepingGroups = idle.filter(({ group, acting }) => acting === "keep" && group !== home);
  const isLent = idle.some(({ group, acting }) => group === home && acting === "lend");
  return {
    code: "floating_not_available",
    slots,
    reserved: splitReserved(keepingGroups, freeSlots),
    holds,
    waiting: queue?.waitingCount ?? 0,
    // With room, the caller wants a slot of a certain license, which a recall does not free.
    ...(isLent && home !== null && !hasRoomFor(state, pool, home, free, at) && { recall: home }),
  };
}

/** Groups can be entitled to more slots than are free: then it is open which of them gets them. */
function splitReserved(uses: readonly ReservationUse[], freeSlots: number): ReservedSlots[] {
  if (freeSlots <= 0 || uses.length === 0) return [];
  const entitled = uses.reduce((sum, { idleSlots }) => sum + idleSlots, 0);
  return entitled > freeSlots
    ? [{ slots: freeSlots, groups: uses.map(nameGroup) }]
    : uses.map((use) => ({ slots: use.idleSlots, groups: [nameGroup(use)] }));
}

const nameGroup = ({ group, line }: ReservationUse): NamedGroup => ({ group, line });
