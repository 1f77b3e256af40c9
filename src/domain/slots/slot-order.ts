import type { Registration } from "../model/slots/registration.ts";
import type { License } from "../model/state.ts";

/** A slot in use, or one that has ended and whose end is not written yet. */
export interface LicenseSlot {
  readonly license: License;
  readonly registration: Registration;
}

interface OpenPool extends LicenseSlot {
  readonly rest: Iterator<Registration>;
}

/**
 * The slots of these licenses after a slot number, in slot order. The state must not change during
 * the iteration: to continue after a change, begin again after the last slot.
 */
export function* listInSlotOrder(
  licenses: Iterable<License>,
  after: number,
): Generator<LicenseSlot, void> {
  // The pool with the next slot is the last one.
  const pools: OpenPool[] = [];
  const open = (license: License, rest: Iterator<Registration>): void => {
    const { done, value } = rest.next();
    if (done === true) return;
    pools.splice(findIndex(pools, value.slot), 0, { license, registration: value, rest });
  };
  for (const license of licenses) open(license, license.pool.inSlotOrder(after)[Symbol.iterator]());
  for (let next = pools.pop(); next !== undefined; next = pools.pop()) {
    yield next;
    open(next.license, next.rest);
  }
}

/** Where a pool whose next slot has this number belongs. */
function findIndex(pools: readonly OpenPool[], slot: number): number {
  let [low, high] = [0, pools.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pools[middle]?.registration.slot ?? 0) > slot) low = middle + 1;
    else high = middle;
  }
  return low;
}
