import { totalAt } from "../consumption/counters.ts";
import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { getBorrowEnd } from "../model/slots/registration.ts";
import type { State, Tombstone } from "../model/state.ts";

export interface LicenseRemove {
  readonly type: "LicenseRemove";
  readonly license: number;
  /** Remove it even while slots of it are borrowed. */
  readonly withBorrows: boolean;
  readonly peer: string;
}

/** Returns a license permanently; repeating the command gives the same tombstone. */
export function decideLicenseRemove(
  state: State,
  { license: id, withBorrows, peer }: LicenseRemove,
  { at }: RuleContext,
): Result<Decision<Tombstone>, Fault> {
  const license = state.licenses.get(id);
  if (license === undefined) {
    const tombstone = state.tombstones.get(id);
    return tombstone === undefined
      ? err({ code: "license_not_found" })
      : makeDecision([], tombstone);
  }
  const borrows = [...license.pool.inSlotOrder()]
    .filter((registration) => getBorrowEnd(registration, at) !== null)
    .map(({ user }) => user);
  if (borrows.length > 0 && !withBorrows) {
    return err({ code: "slots_borrowed", slots: borrows.length });
  }
  const { grant, terms, counter } = license;
  const tombstone: Tombstone = {
    license: id,
    serial: grant.serial,
    vendor: grant.vendor,
    key: grant.key,
    product: terms.product,
    at,
    total: totalAt(counter, at),
    borrows,
  };
  return makeDecision([{ type: "LicenseRemoved", at, license: id, tombstone, peer }], tombstone);
}
