// The leases that applications hold, by the true time, which no clock of the machine need show. It
// knows nothing of the rules but this: while a lease lives that was granted under a right clock and
// not given back, its slot is nobody else's.
import type { Command } from "../../../src/domain/command.ts";
import type { SlotOutcome } from "../../../src/domain/slots.ts";
import type { State } from "../../../src/domain/state.ts";
import { MINUTE } from "../../../src/domain/time.ts";

/** So far from the true time a clock still counts as right. */
const RIGHT = MINUTE;

interface Lease {
  readonly license: number;
  readonly user: string;
  /** By a clock that is right: the true end. */
  readonly end: number;
  /** How many the license had when it was granted. */
  readonly slots: number;
  readonly trueNow: number;
  /** Its slot was taken with it: one that was held already takes nothing from anybody. */
  readonly isNew: boolean;
}

export class TrueLeases {
  readonly #held = new Map<number, Map<string, Lease>>();
  /** Decided, and not heard of yet: a crash may take them back. */
  readonly #decided = new Set<Lease>();
  grantedCount = 0;

  /**
   * What an answer says of a borrow, if there is one and the clock was right; `nextSlot`: the first
   * slot that nobody had before.
   */
  recordDecision(
    state: State,
    outcome: unknown,
    nextSlot: number,
    shown: number,
    trueNow: number,
  ): Lease | null {
    const { license: id = 0, user = "", slot = 0, borrowedUntil } = (outcome ?? {}) as Borrowed;
    if (borrowedUntil == null || Math.abs(shown - trueNow) > RIGHT) return null;
    const license = state.licenses.get(id);
    // A repeated call tells of a slot that may be somebody else's by now.
    if (license === undefined || license.pool.get(user)?.slot !== slot) return null;
    const { slots } = license.terms;
    const isNew = slot >= nextSlot;
    const lease = { license: id, user, end: borrowedUntil, slots, trueNow, isNew };
    this.#decided.add(lease);
    return lease;
  }

  /** Somebody has this answer. Says what is wrong with it; null: nothing. */
  recordAnswer(lease: Lease): string | null {
    if (!this.#decided.delete(lease)) return null;
    const { license, user, slots, trueNow, isNew } = lease;
    const held = this.#held.get(license) ?? new Map<string, Lease>();
    this.#held.set(license, held);
    held.set(user, lease);
    this.grantedCount += 1;
    const live = [...held.values()].filter(({ end }) => end > trueNow + RIGHT);
    this.#held.set(license, new Map(live.map((one) => [one.user, one])));
    if (!isNew || live.length <= slots) return null;
    return `license ${license} has ${slots} slots and ${live.length} leases that live: ${JSON.stringify(live)}`;
  }

  /** Something may be given back by this, also where nobody hears that it was. */
  endLeasesFor(command: Command): void {
    if (command.type === "UnregisterAll") this.#end(() => true);
    if (command.type === "RemoveLicense") this.#end(({ license }) => license === command.license);
    if (command.type === "Unregister") this.#end(({ user }) => user === command.user);
  }

  #end(isMeant: (lease: Lease) => boolean): void {
    for (const lease of this.#decided) if (isMeant(lease)) this.#decided.delete(lease);
    for (const held of this.#held.values()) {
      for (const [user, lease] of held) if (isMeant(lease)) held.delete(user);
    }
  }
}

type Borrowed = Partial<Pick<SlotOutcome, "license" | "user" | "slot" | "borrowedUntil">>;
