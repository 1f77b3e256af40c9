// The state that clients may expect after a power cut: what the server answered, what reads showed,
// and the calls that it never answered. What a restart finds must agree with it.

/** A slot as the server reports it. */
export interface SlotReply {
  readonly user: string;
  readonly user_info: string;
  readonly expires_at: string;
  readonly borrowed_until: string | null;
}

/** A call without an answer, and the slot that it would result in. */
interface PendingCall {
  /** The slot's new user_info; null: the call releases the slot. */
  readonly info: string | null;
  /** Whether a read has shown the result of the call. */
  wasShown: boolean;
}

export class ExpectedUser {
  readonly user: string;
  slot: SlotReply | null = null;
  pendingCall: PendingCall | null = null;
  /** Number of calls answered so far. */
  answerCount = 0;

  constructor(user: string) {
    this.user = user;
  }

  beginCall(info: string | null): void {
    this.pendingCall = { info, wasShown: false };
  }

  recordAnswer(slot: SlotReply | null): void {
    this.slot = slot;
    this.pendingCall = null;
    this.answerCount += 1;
  }

  /** Records a read that was sent when `answerCount` was `answerCountBefore`. */
  recordRead(slot: SlotReply | undefined, answerCountBefore: number): void {
    if (this.pendingCall === null) return;
    const { info } = this.pendingCall;
    // An unchanged text proves nothing, and neither does a read sent before the last answer.
    const isNew = info !== null && info !== this.slot?.user_info && slot?.user_info === info;
    const isGone = info === null && slot === undefined && this.answerCount === answerCountBefore;
    if (isNew || (isGone && this.slot !== null)) this.pendingCall.wasShown = true;
  }

  /** Compares the slot after a restart with the answers and the pending call; null: valid. */
  findViolation(actual: SlotReply | undefined): PowerViolation | null {
    const { slot, pendingCall } = this;
    const isAsRequested = pendingCall !== null && (actual?.user_info ?? null) === pendingCall.info;
    const isAsAcknowledged =
      actual === undefined ? slot === null : slot !== null && isSameSlot(actual, slot);
    const detail = { user: this.user, acknowledged: slot, pendingCall, actual: actual ?? null };
    if (pendingCall?.wasShown === true && !isAsRequested) return { promise: "shown", detail };
    return isAsAcknowledged || isAsRequested ? null : { promise: "slots", detail };
  }
}

/** The promises that a power cut could break. */
export type PowerPromise =
  "starts" | "answers" | "slots" | "counts" | "once" | "shown" | "auditLog" | "stops" | "first";

export interface PowerViolation {
  readonly promise: PowerPromise;
  readonly detail: unknown;
}

interface CountCall {
  readonly key: string;
  readonly count: number;
}

export class ExpectedState {
  readonly users: readonly ExpectedUser[];
  /** The sum of all answered counts. */
  acknowledgedTotal = 0;
  /** The largest total in any answer. */
  highestShownTotal = 0;
  readonly pendingCounts = new Map<string, CountCall>();
  /** An answered count, to be repeated under its key. */
  lastAcknowledgedCount: CountCall | null = null;
  readonly figures = { answered: 0, unanswered: 0, reads: 0, repeated: 0 };
  readonly violations: PowerViolation[] = [];

  constructor(users: number) {
    this.users = Array.from({ length: users }, (_, index) => new ExpectedUser(`user-${index}`));
  }

  /** Compares the state after a restart with the expected one, then adopts it. */
  reconcile(slots: readonly SlotReply[], total: number): PowerViolation[] {
    const violations = this.violations.splice(0);
    const byUser = new Map(slots.map((slot) => [slot.user, slot]));
    for (const expectedUser of this.users) {
      const actual = byUser.get(expectedUser.user);
      const violation = expectedUser.findViolation(actual);
      if (violation !== null) violations.push(violation);
      if (expectedUser.pendingCall !== null) this.figures.unanswered += 1;
      expectedUser.recordAnswer(actual ?? null);
      byUser.delete(expectedUser.user);
    }
    if (byUser.size > 0) violations.push({ promise: "slots", detail: { invented: [...byUser] } });
    const pendingCounts = [...this.pendingCounts.values()];
    const highestPossibleTotal = pendingCounts.reduce(
      (sum, { count }) => sum + count,
      this.acknowledgedTotal,
    );
    const detail = {
      acknowledgedTotal: this.acknowledgedTotal,
      pendingCounts,
      highestShownTotal: this.highestShownTotal,
      total,
    };
    if (total < this.acknowledgedTotal || total > highestPossibleTotal)
      violations.push({ promise: "counts", detail });
    if (total < this.highestShownTotal) violations.push({ promise: "shown", detail });
    this.figures.unanswered += pendingCounts.length;
    return violations;
  }
}

const isSameSlot = (a: SlotReply, b: SlotReply): boolean =>
  a.user_info === b.user_info &&
  a.expires_at === b.expires_at &&
  a.borrowed_until === b.borrowed_until;
