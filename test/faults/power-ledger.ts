// What somebody outside knows of a server: what it answered, what it showed, and what it was asked
// and never answered. Whatever a power cut leaves must agree with that.

/** A slot as the server tells of it. */
export interface Slot {
  readonly user: string;
  readonly user_info: string;
  readonly expires_at: string;
  readonly borrowed_until: string | null;
}

/** Asked and not answered yet: what it would make of the slot. */
interface Asked {
  /** What the slot would carry; null: it would be given back. */
  readonly info: string | null;
  /** A read has shown it done. */
  shown: boolean;
}

export class Account {
  readonly user: string;
  held: Slot | null = null;
  asked: Asked | null = null;
  /** Calls answered so far. */
  answered = 0;

  constructor(user: string) {
    this.user = user;
  }

  ask(info: string | null): void {
    this.asked = { info, shown: false };
  }

  answer(slot: Slot | null): void {
    this.held = slot;
    this.asked = null;
    this.answered += 1;
  }

  /** A list that was read while `answered` stood at `before`. */
  see(slot: Slot | undefined, before: number): void {
    if (this.asked === null) return;
    const { info } = this.asked;
    // The same text again proves nothing, and neither does a list from before the last answer.
    const isNew = info !== null && info !== this.held?.user_info && slot?.user_info === info;
    const isGone = info === null && slot === undefined && this.answered === before;
    if (isNew || (isGone && this.held !== null)) this.asked.shown = true;
  }

  /** Null, or why what was found cannot be. */
  fault(found: Slot | undefined): Fault | null {
    const { held, asked } = this;
    const done = asked !== null && (found?.user_info ?? null) === asked.info;
    const kept = found === undefined ? held === null : held !== null && isSame(found, held);
    const detail = { user: this.user, held, asked, found: found ?? null };
    if (asked?.shown === true && !done) return { promise: "shown", detail };
    return kept || done ? null : { promise: "slots", detail };
  }
}

/** What can be broken. */
export type PromiseName =
  "starts" | "answers" | "slots" | "counts" | "once" | "shown" | "record" | "stops" | "first";

export interface Fault {
  readonly promise: PromiseName;
  readonly detail: unknown;
}

interface Count {
  readonly key: string;
  readonly count: number;
}

export class Ledger {
  readonly accounts: readonly Account[];
  /** The sum of what was answered. */
  counted = 0;
  /** The largest total that any answer showed. */
  shown = 0;
  readonly open = new Map<string, Count>();
  /** An answered one to repeat. */
  lastCount: Count | null = null;
  readonly figures = { answered: 0, unanswered: 0, reads: 0, repeated: 0 };
  readonly wrong: Fault[] = [];

  constructor(users: number) {
    this.accounts = Array.from({ length: users }, (_, index) => new Account(`user-${index}`));
  }

  /** Compares what a restart found, and takes it for the truth from there on. */
  settle(slots: readonly Slot[], total: number): Fault[] {
    const faults = this.wrong.splice(0);
    const byUser = new Map(slots.map((slot) => [slot.user, slot]));
    for (const account of this.accounts) {
      const found = byUser.get(account.user);
      const fault = account.fault(found);
      if (fault !== null) faults.push(fault);
      if (account.asked !== null) this.figures.unanswered += 1;
      account.answer(found ?? null);
      byUser.delete(account.user);
    }
    if (byUser.size > 0) faults.push({ promise: "slots", detail: { invented: [...byUser] } });
    const open = [...this.open.values()];
    const most = open.reduce((sum, { count }) => sum + count, this.counted);
    const detail = { counted: this.counted, open, shown: this.shown, total };
    if (total < this.counted || total > most) faults.push({ promise: "counts", detail });
    if (total < this.shown) faults.push({ promise: "shown", detail });
    this.figures.unanswered += open.length;
    return faults;
  }
}

const isSame = (a: Slot, b: Slot): boolean =>
  a.user_info === b.user_info &&
  a.expires_at === b.expires_at &&
  a.borrowed_until === b.borrowed_until;
