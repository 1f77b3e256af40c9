// The borrows that applications have, by the true time, which the machine's clock may not show. It
// checks one rule only: until a lease that was granted under a correct clock ends or is released,
// no other user gets its slot.
import type { Command } from "../../../src/domain/decide.ts";
import type { SlotOutcome } from "../../../src/domain/slots/slots.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { MINUTE } from "../../../src/domain/time.ts";

/** A clock this close to the true time counts as correct. */
const CLOCK_TOLERANCE = MINUTE;

interface Lease {
  readonly license: number;
  readonly user: string;
  /** The true end, because the clock was correct. */
  readonly end: number;
  /** Number of slots of the license when the lease was granted. */
  readonly slots: number;
  readonly trueNow: number;
  /** Whether the call took a new slot; a slot that the user already had takes none from others. */
  readonly isNew: boolean;
}

export class TrueLeases {
  readonly #leases = new Map<number, Map<string, Lease>>();
  /** Decided, but not answered yet: a crash may undo them. */
  readonly #unanswered = new Set<Lease>();
  grantedCount = 0;

  /**
   * Returns the lease of an outcome that is a borrow under a correct clock, otherwise null.
   * `nextSlot`: the first slot number that was never used before.
   */
  recordDecision(
    state: State,
    outcome: unknown,
    nextSlot: number,
    shownTime: number,
    trueNow: number,
  ): Lease | null {
    const { license: id = 0, user = "", slot = 0, borrowedUntil } = (outcome ?? {}) as Borrowed;
    if (borrowedUntil == null || Math.abs(shownTime - trueNow) > CLOCK_TOLERANCE) return null;
    const license = state.licenses.get(id);
    // A repeated call returns a slot that another user may have by now.
    if (license === undefined || license.pool.get(user)?.slot !== slot) return null;
    const { slots } = license.terms;
    const isNew = slot >= nextSlot;
    const lease = { license: id, user, end: borrowedUntil, slots, trueNow, isNew };
    this.#unanswered.add(lease);
    return lease;
  }

  /** A client has this answer. Returns the violation; null: none. */
  recordAnswer(lease: Lease): string | null {
    if (!this.#unanswered.delete(lease)) return null;
    const { license, user, slots, trueNow, isNew } = lease;
    const licenseLeases = this.#leases.get(license) ?? new Map<string, Lease>();
    this.#leases.set(license, licenseLeases);
    licenseLeases.set(user, lease);
    this.grantedCount += 1;
    const current = [...licenseLeases.values()].filter(
      ({ end }) => end > trueNow + CLOCK_TOLERANCE,
    );
    this.#leases.set(license, new Map(current.map((entry) => [entry.user, entry])));
    if (!isNew || current.length <= slots) return null;
    return `license ${license} has ${slots} slots but ${current.length} leases that have not ended: ${JSON.stringify(current)}`;
  }

  /** Ends the leases that a command may release, even if it is never answered. */
  endLeasesFor(command: Command): void {
    if (command.type === "UnregisterAll") this.#end(() => true);
    if (command.type === "LicenseRemove") this.#end(({ license }) => license === command.license);
    if (command.type === "Unregister") this.#end(({ user }) => user === command.user);
  }

  #end(matches: (lease: Lease) => boolean): void {
    for (const lease of this.#unanswered) if (matches(lease)) this.#unanswered.delete(lease);
    for (const licenseLeases of this.#leases.values()) {
      for (const [user, lease] of licenseLeases) if (matches(lease)) licenseLeases.delete(user);
    }
  }
}

type Borrowed = Partial<Pick<SlotOutcome, "license" | "user" | "slot" | "borrowedUntil">>;
