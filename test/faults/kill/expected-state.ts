// The state that the clients of a server can expect. An answered change is certain; a change that
// was sent and not answered may have happened or not; what a read has shown is certain from then
// on.
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";

/** A user's slot. The times are null until an answer has shown them: then any value is allowed. */
export interface ExpectedSlot {
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly features: readonly string[];
  readonly registeredAt: string | null;
  readonly expiresAt: string | null;
}

export type MaybeSlot = ExpectedSlot | null;

/** A call that is sent and not answered: the slot may have become `slotAfter`. */
interface PendingCall {
  readonly operation: string;
  readonly slotAfter: MaybeSlot;
  /** A read has shown `slotAfter`: the change is certain. */
  wasShown: boolean;
}

export class ExpectedUser {
  readonly name: string;
  slot: MaybeSlot = null;
  pendingCall: PendingCall | null = null;
  /**
   * Incremented with every answer, so that a reader can skip users that changed during its read.
   */
  version = 0;

  constructor(name: string) {
    this.name = name;
  }

  beginCall(operation: string, slotAfter: MaybeSlot): void {
    this.pendingCall = { operation, slotAfter, wasShown: false };
  }

  /** Records the slot after an answer: the new slot, or the unchanged one after a refusal. */
  recordAnswer(slot: MaybeSlot): void {
    this.slot = slot;
    this.pendingCall = null;
    this.version += 1;
  }

  /** Whether a read shows the slot before or after the pending call; null if neither. */
  compareRead(shown: MaybeSlot): "before" | "after" | null {
    const { slot, pendingCall } = this;
    if (isConsistentSlot(slot, shown)) return "before";
    if (pendingCall === null || !isConsistentSlot(pendingCall.slotAfter, shown)) return null;
    pendingCall.wasShown = true;
    return "after";
  }

  /** After a restart, accepts the slot that was found as certain, or returns a violation. */
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
      const alternative =
        pendingCall === null
          ? ""
          : `, nor after ${pendingCall.operation} ${JSON.stringify(pendingCall.slotAfter)}`;
      return `${this.name} is ${JSON.stringify(found)}, not ${JSON.stringify(slot)}${alternative}`;
    }
    if (pendingCall?.wasShown !== true) return null;
    return `${this.name} is ${JSON.stringify(found)}; a read had shown ${JSON.stringify(pendingCall.slotAfter)}`;
  }
}

/**
 * A borrow with a changed user_info is two journal lines: a renewal, then the borrow. If it was not
 * answered, a kill may fall between the two, and then only the renewal happened.
 */
const isInterruptedBorrow = (
  pendingCall: PendingCall | null,
  slotBefore: MaybeSlot,
  found: MaybeSlot,
): boolean =>
  pendingCall?.operation === "borrow" &&
  !pendingCall.wasShown &&
  pendingCall.slotAfter !== null &&
  slotBefore !== null &&
  isConsistentSlot({ ...slotBefore, info: pendingCall.slotAfter.info, expiresAt: null }, found);

export function isConsistentSlot(expected: MaybeSlot, found: MaybeSlot): boolean {
  if (expected === null || found === null) return expected === found;
  return (
    expected.info === found.info &&
    expected.borrowedUntil === found.borrowedUntil &&
    expected.features.join() === found.features.join() &&
    (expected.registeredAt ?? found.registeredAt) === found.registeredAt &&
    (expected.expiresAt ?? found.expiresAt) === found.expiresAt
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
  | { readonly brokenPromise: "counts" | "reads"; readonly reason: string }
  | { readonly brokenPromise: null; readonly counted: ReadonlySet<number> };

/**
 * A counter that only grows. Every client adds its own power of two, so the total alone shows which
 * of the unanswered calls were counted.
 */
class ExpectedCounter {
  acknowledged = 0;
  /** The highest total that an answer or a read has shown. */
  highestShown = 0;
  readonly pendingWeights = new Set<number>();

  get maximum(): number {
    return [...this.pendingWeights].reduce((sum, weight) => sum + weight, this.acknowledged);
  }

  recordAnswer(weight: number): void {
    this.pendingWeights.delete(weight);
    this.acknowledged += weight;
  }

  /** Checks a total shown by a call that was sent when `least` was certain; returns a violation. */
  recordShown(total: number, least: number): string | null {
    if (total < least || total > this.maximum) {
      return `the total shown is ${total}, but must be from ${least} to ${this.maximum}`;
    }
    this.highestShown = Math.max(this.highestShown, total);
    return null;
  }

  /** After a restart, finds which of the unanswered calls were counted, or a violation. */
  reconcile(total: number): ReconcileResult {
    const { acknowledged, highestShown } = this;
    const pending = [...this.pendingWeights];
    const extra = total - acknowledged;
    const counted = pending.filter((weight) => Math.floor(extra / weight) % 2 === 1);
    const explained = counted.reduce((sum, weight) => sum + weight, 0);
    this.pendingWeights.clear();
    this.acknowledged = total;
    if (extra !== explained) {
      const sent = `${acknowledged} was acknowledged, ${pending.join("+") || 0} was not answered`;
      return { brokenPromise: "counts", reason: `the total is ${total}: ${sent}` };
    }
    if (total < highestShown) {
      return {
        brokenPromise: "reads",
        reason: `the total is ${total}; a read had shown ${highestShown}`,
      };
    }
    return { brokenPromise: null, counted: new Set(counted) };
  }
}

/** A license request that the server created, with the line of the audit log it names. */
export interface IssuedRequest {
  readonly id: string;
  readonly audit: { readonly seq: number; readonly sum: string };
}

/** All that the clients know about one data folder. */
export class ExpectedState {
  readonly users: ReadonlyMap<string, ExpectedUser>;
  readonly counters = { license: new ExpectedCounter(), feature: new ExpectedCounter() };
  readonly requests: IssuedRequest[] = [];
  /** The newest journal line that a read has shown. */
  highestShownSeq = 0;

  constructor(users: readonly ExpectedUser[]) {
    this.users = new Map(users.map((user) => [user.name, user]));
  }
}

export type CounterName = keyof ExpectedState["counters"];
