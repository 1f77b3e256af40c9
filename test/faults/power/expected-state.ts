// What somebody outside knows of a server: what it answered, what it showed, and what it was asked
// and never answered. Whatever a power cut leaves must agree with that.

/** A slot as the server tells of it. */
export interface SlotReply {
  readonly user: string;
  readonly user_info: string;
  readonly expires_at: string;
  readonly borrowed_until: string | null;
}

/** Asked and not answered yet: what it would make of the slot. */
interface PendingCall {
  /** What the slot would carry; null: it would be given back. */
  readonly info: string | null;
  /** A read has shown it done. */
  wasShown: boolean;
}

export class ExpectedUser {
  readonly user: string;
  slot: SlotReply | null = null;
  pendingCall: PendingCall | null = null;
  /** Calls answered so far. */
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

  /** A list that was read while `answered` stood at `before`. */
  recordRead(slot: SlotReply | undefined, before: number): void {
    if (this.pendingCall === null) return;
    const { info } = this.pendingCall;
    // The same text again proves nothing, and neither does a list from before the last answer.
    const isNew = info !== null && info !== this.slot?.user_info && slot?.user_info === info;
    const isGone = info === null && slot === undefined && this.answerCount === before;
    if (isNew || (isGone && this.slot !== null)) this.pendingCall.wasShown = true;
  }

  /** Null, or why what was found cannot be. */
  findViolation(found: SlotReply | undefined): PowerViolation | null {
    const { slot, pendingCall } = this;
    const done = pendingCall !== null && (found?.user_info ?? null) === pendingCall.info;
    const kept = found === undefined ? slot === null : slot !== null && isSameSlot(found, slot);
    const detail = { user: this.user, held: slot, asked: pendingCall, found: found ?? null };
    if (pendingCall?.wasShown === true && !done) return { promise: "shown", detail };
    return kept || done ? null : { promise: "slots", detail };
  }
}

/** What can be broken. */
export type PowerPromise =
  "starts" | "answers" | "slots" | "counts" | "once" | "shown" | "record" | "stops" | "first";

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
  /** The sum of what was answered. */
  acknowledgedTotal = 0;
  /** The largest total that any answer showed. */
  highestShownTotal = 0;
  readonly pendingCounts = new Map<string, CountCall>();
  /** An answered one to repeat. */
  lastAcknowledgedCount: CountCall | null = null;
  readonly figures = { answered: 0, unanswered: 0, reads: 0, repeated: 0 };
  readonly violations: PowerViolation[] = [];

  constructor(users: number) {
    this.users = Array.from({ length: users }, (_, index) => new ExpectedUser(`user-${index}`));
  }

  /** Compares what a restart found, and takes it for the truth from there on. */
  reconcile(slots: readonly SlotReply[], total: number): PowerViolation[] {
    const faults = this.violations.splice(0);
    const byUser = new Map(slots.map((slot) => [slot.user, slot]));
    for (const account of this.users) {
      const found = byUser.get(account.user);
      const fault = account.findViolation(found);
      if (fault !== null) faults.push(fault);
      if (account.pendingCall !== null) this.figures.unanswered += 1;
      account.recordAnswer(found ?? null);
      byUser.delete(account.user);
    }
    if (byUser.size > 0) faults.push({ promise: "slots", detail: { invented: [...byUser] } });
    const pendingCounts = [...this.pendingCounts.values()];
    const most = pendingCounts.reduce((sum, { count }) => sum + count, this.acknowledgedTotal);
    const detail = {
      acknowledgedTotal: this.acknowledgedTotal,
      open: pendingCounts,
      highestShownTotal: this.highestShownTotal,
      total,
    };
    if (total < this.acknowledgedTotal || total > most) faults.push({ promise: "counts", detail });
    if (total < this.highestShownTotal) faults.push({ promise: "shown", detail });
    this.figures.unanswered += pendingCounts.length;
    return faults;
  }
}

const isSameSlot = (a: SlotReply, b: SlotReply): boolean =>
  a.user_info === b.user_info &&
  a.expires_at === b.expires_at &&
  a.borrowed_until === b.borrowed_until;
