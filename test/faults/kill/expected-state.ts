// What must be true of a server, as somebody outside can know it: what was answered is certain, what
// was asked and not answered may be either, and what a read has shown is certain from then on.
import type { RegistrationReply } from "../../../src/http/routes/admin.ts";

/** A user's slot. What nobody was told yet is null: it may be anything. */
export interface ExpectedSlot {
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly features: readonly string[];
  readonly registeredAt: string | null;
  readonly expiresAt: string | null;
}

export type MaybeSlot = ExpectedSlot | null;

/** Asked for and not answered: the slot may have become `after`. */
interface PendingCall {
  readonly operation: string;
  readonly slotAfter: MaybeSlot;
  /** A read has shown `after`: it is not open any more. */
  wasShown: boolean;
}

export class ExpectedUser {
  readonly name: string;
  slot: MaybeSlot = null;
  pendingCall: PendingCall | null = null;
  /** Raised with every answer, so that a read can tell what did not change meanwhile. */
  version = 0;

  constructor(name: string) {
    this.name = name;
  }

  beginCall(what: string, after: MaybeSlot): void {
    this.pendingCall = { operation: what, slotAfter: after, wasShown: false };
  }

  /** What was asked is done (`after` as it was told), or was refused (what is held stays). */
  recordAnswer(held: MaybeSlot): void {
    this.slot = held;
    this.pendingCall = null;
    this.version += 1;
  }

  /** A read that nothing was answered during shows the one or the other; null: neither. */
  compareRead(found: MaybeSlot): "before" | "after" | null {
    const { slot, pendingCall } = this;
    if (isConsistentSlot(slot, found)) return "before";
    if (pendingCall === null || !isConsistentSlot(pendingCall.slotAfter, found)) return null;
    pendingCall.wasShown = true;
    return "after";
  }

  /** After a restart: what is there is certain now, or a complaint. */
  reconcile(found: MaybeSlot): string | null {
    const { slot, pendingCall } = this;
    this.pendingCall = null;
    this.version += 1;
    if (pendingCall !== null && isConsistentSlot(pendingCall.slotAfter, found)) {
      this.slot = found;
      return null;
    }
    if (isInterruptedBorrow(pendingCall, slot, found)) {
      this.slot = found;
      return null;
    }
    if (!isConsistentSlot(slot, found)) {
      const or =
        pendingCall === null
          ? ""
          : ` or after ${pendingCall.operation} ${JSON.stringify(pendingCall.slotAfter)}`;
      return `${this.name} is ${JSON.stringify(found)}, not ${JSON.stringify(slot)}${or}`;
    }
    if (pendingCall?.wasShown !== true) return null;
    return `${this.name} is ${JSON.stringify(found)}; a read had shown ${JSON.stringify(pendingCall.slotAfter)}`;
  }
}

/**
 * A borrow by a holder with other words of itself is a renewal and then the borrow, a line each:
 * what was never answered may end between the two, and then it was a heartbeat.
 */
const isInterruptedBorrow = (
  open: PendingCall | null,
  held: MaybeSlot,
  found: MaybeSlot,
): boolean =>
  open?.operation === "borrow" &&
  !open.wasShown &&
  open.slotAfter !== null &&
  held !== null &&
  isConsistentSlot({ ...held, info: open.slotAfter.info, expiresAt: null }, found);

export function isConsistentSlot(known: MaybeSlot, found: MaybeSlot): boolean {
  if (known === null || found === null) return known === found;
  return (
    known.info === found.info &&
    known.borrowedUntil === found.borrowedUntil &&
    known.features.join() === found.features.join() &&
    (known.registeredAt ?? found.registeredAt) === found.registeredAt &&
    (known.expiresAt ?? found.expiresAt) === found.expiresAt
  );
}

export const slotFromReply = (row: RegistrationReply): ExpectedSlot => ({
  info: row.user_info,
  borrowedUntil: row.borrowed_until,
  features: row.features.toSorted(),
  registeredAt: row.registered_at,
  expiresAt: row.expires_at,
});

type ReconcileResult =
  | { readonly broken: "counts" | "reads"; readonly complaint: string }
  | { readonly broken: null; readonly counted: ReadonlySet<number> };

/**
 * A count that only grows. Every client adds a power of two of its own, so the total alone tells
 * which of the unanswered ones were counted.
 */
class ExpectedCounter {
  acknowledged = 0;
  /** The most that anybody was shown. */
  highestShown = 0;
  readonly pendingWeights = new Set<number>();

  get maximum(): number {
    return [...this.pendingWeights].reduce((sum, weight) => sum + weight, this.acknowledged);
  }

  recordAnswer(weight: number): void {
    this.pendingWeights.delete(weight);
    this.acknowledged += weight;
  }

  /** An answer or a read that was begun when `least` was certain shows this total. */
  recordShown(total: number, least: number): string | null {
    if (total < least || total > this.maximum) {
      return `a total of ${total} is shown, which must be from ${least} to ${this.maximum}`;
    }
    this.highestShown = Math.max(this.highestShown, total);
    return null;
  }

  /** After a restart: which of the open ones were counted, or a complaint. */
  reconcile(total: number): ReconcileResult {
    const { acknowledged, highestShown } = this;
    const open = [...this.pendingWeights];
    const extra = total - acknowledged;
    const counted = open.filter((weight) => Math.floor(extra / weight) % 2 === 1);
    const explained = counted.reduce((sum, weight) => sum + weight, 0);
    this.pendingWeights.clear();
    this.acknowledged = total;
    if (extra !== explained) {
      const asked = `${acknowledged} were acknowledged, ${open.join("+") || 0} are open`;
      return { broken: "counts", complaint: `the total is ${total}: ${asked}` };
    }
    if (total < highestShown) {
      return {
        broken: "reads",
        complaint: `the total is ${total}; a read had shown ${highestShown}`,
      };
    }
    return { broken: null, counted: new Set(counted) };
  }
}

/** A license request that was handed out, with what it says of the auditor's record. */
export interface IssuedRequest {
  readonly id: string;
  readonly audit: { readonly seq: number; readonly sum: string };
}

/** All that is known of one folder. */
export class ExpectedState {
  readonly users: ReadonlyMap<string, ExpectedUser>;
  readonly counters = { license: new ExpectedCounter(), feature: new ExpectedCounter() };
  readonly requests: IssuedRequest[] = [];
  /** The newest line of the journal that anybody was shown. */
  highestShownSeq = 0;

  constructor(users: readonly ExpectedUser[]) {
    this.users = new Map(users.map((user) => [user.name, user]));
  }
}

export type CounterName = keyof ExpectedState["counters"];
