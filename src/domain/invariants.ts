import type { Event } from "./model/event.ts";
import type { SlotPool } from "./model/slots/pool.ts";
import { countSlotsInUse } from "./model/slots/pool.ts";
import type { BaseRegistration } from "./model/slots/registration.ts";
import { countHolds } from "./queue/holds.ts";
import type { State } from "./model/state.ts";
import { canBorrow, type ConsumptionTerms } from "./model/licenses/terms.ts";
import type { Instant } from "./time.ts";

/**
 * Checks what must be true right after an event was applied. It judges the event that grants, never
 * the state alone: a license renewed with fewer slots than are held is over its limit, but granted
 * nothing.
 */
export function assertGrantInvariants(state: State, event: Event): void {
  if (!("license" in event) || event.type === "LicenseRemoved") return;
  const license = state.licenses.get(event.license);
  assert(license !== undefined, "an event was applied to a license that is not installed");
  const feature = "feature" in event ? license.features.get(event.feature) : undefined;
  switch (event.type) {
    case "SlotTaken":
    case "HoldGiven":
      assert(
        countSlotsInUse(license.pool, event.at) + countHolds(state, license) <= license.terms.slots,
        "more slots granted and held than the license has",
      );
      return;
    case "SlotBorrowed":
      assert(canBorrow(license.terms), "a slot was borrowed from a license that does not allow it");
      assert(event.at < event.until, "a slot was borrowed into the past");
      assert(event.until <= event.end, "a borrowed slot ends before its borrow");
      return;
    case "FeatureRenewed":
      return assertWithinLicenseSlot(license.pool, event);
    case "FeatureTaken":
      assertWithinLicenseSlot(license.pool, event);
      return assertWithinSlotCount(feature?.pool, feature?.terms.floating?.slots ?? 0, event.at);
    case "ConsumptionAdded":
      return assertWithinConsumptionLimit(license.terms.consumption, event);
    case "FeatureConsumptionAdded":
      return assertWithinConsumptionLimit(feature?.terms.consumption, event);
    default:
      return;
  }
}

function assertWithinSlotCount(
  pool: SlotPool<BaseRegistration> | undefined,
  slots: number,
  at: Instant,
): void {
  assert(
    pool !== undefined && countSlotsInUse(pool, at) <= slots,
    "more slots granted than the license has",
  );
}

function assertWithinLicenseSlot(
  pool: SlotPool<BaseRegistration>,
  { user, end }: { readonly user: string; readonly end: Instant },
): void {
  const holder = pool.get(user);
  assert(
    holder !== undefined && end <= holder.end,
    "a feature slot ends after the slot of its license",
  );
}

function assertWithinConsumptionLimit(
  terms: ConsumptionTerms | null | undefined,
  { count, total }: { readonly count: number; readonly total: number },
): void {
  assert(terms != null, "consumption was counted on a license that does not count it");
  assert(Number.isSafeInteger(total) && total >= 0, "a total is out of range");
  const maxTotal = terms.max === null ? Infinity : terms.max + terms.overages;
  assert(count <= 0 || total <= maxTotal, "more consumption counted than the license has");
}

function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
