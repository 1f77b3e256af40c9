// What must be true of a server, as somebody outside can know it: what was answered is certain, what
// was asked and not answered may be either, and what a read has shown is certain from then on.
import type { RegistrationReply } from "../../src/http/routes/admin.ts";

/** A user's slot. What nobody was told yet is null: it may be anything. */
export interface Slot {
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly features: readonly string[];
  readonly registeredAt: string | null;
  readonly expiresAt: string | null;
}

export type Holding = Slot | null;

/** Asked for and not answered: the slot may have become `after`. */
interface Open {
  readonly what: string;
  readonly after: Holding;
  /** A read has shown `after`: it is not open any more. */
  shown: boolean;
}

export class User {
  readonly name: string;
  held: Holding = null;
  open: Open | null = null;
  /** Raised with every answer, so that a read can tell what did not change meanwhile. */
  version = 0;

  constructor(name: string) {
    this.name = name;
  }

  ask(what: string, after: Holding): void {
    this.open = { what, after, shown: false };
  }

  /** What was asked is done (`after` as it was told), or was refused (what is held stays). */
  answered(held: Holding): void {
    this.held = held;
    this.open = null;
    this.version += 1;
  }

  /** A read that nothing was answered during shows the one or the other; null: neither. */
  read(found: Holding): "before" | "after" | null {
    const { held, open } = this;
    if (fits(held, found)) return "before";
    if (open === null || !fits(open.after, found)) return null;
    open.shown = true;
    return "after";
  }

  /** After a restart: what is there is certain now, or a complaint. */
  settle(found: Holding): string | null {
    const { held, open } = this;
    this.open = null;
    this.version += 1;
    if (open !== null && fits(open.after, found)) {
      this.held = found;
      return null;
    }
    if (isHeartbeatOf(open, held, found)) {
      this.held = found;
      return null;
    }
    if (!fits(held, found)) {
      const or = open === null ? "" : ` or after ${open.what} ${JSON.stringify(open.after)}`;
      return `${this.name} is ${JSON.stringify(found)}, not ${JSON.stringify(held)}${or}`;
    }
    if (open?.shown !== true) return null;
    return `${this.name} is ${JSON.stringify(found)}; a read had shown ${JSON.stringify(open.after)}`;
  }
}

/**
 * A borrow by a holder with other words of itself is a renewal and then the borrow, a line each:
 * what was never answered may end between the two, and then it was a heartbeat.
 */
const isHeartbeatOf = (open: Open | null, held: Holding, found: Holding): boolean =>
  open?.what === "borrow" &&
  !open.shown &&
  open.after !== null &&
  held !== null &&
  fits({ ...held, info: open.after.info, expiresAt: null }, found);

export function fits(known: Holding, found: Holding): boolean {
  if (known === null || found === null) return known === found;
  return (
    known.info === found.info &&
    known.borrowedUntil === found.borrowedUntil &&
    known.features.join() === found.features.join() &&
    (known.registeredAt ?? found.registeredAt) === found.registeredAt &&
    (known.expiresAt ?? found.expiresAt) === found.expiresAt
  );
}

export const slotOf = (row: RegistrationReply): Slot => ({
  info: row.user_info,
  borrowedUntil: row.borrowed_until,
  features: row.features.toSorted(),
  registeredAt: row.registered_at,
  expiresAt: row.expires_at,
});

type Settled =
  | { readonly broken: "counts" | "reads"; readonly complaint: string }
  | { readonly broken: null; readonly counted: ReadonlySet<number> };

/**
 * A count that only grows. Every client adds a power of two of its own, so the total alone tells
 * which of the unanswered ones were counted.
 */
class Counter {
  certain = 0;
  /** The most that anybody was shown. */
  shown = 0;
  readonly open = new Set<number>();

  get most(): number {
    return [...this.open].reduce((sum, weight) => sum + weight, this.certain);
  }

  answered(weight: number): void {
    this.open.delete(weight);
    this.certain += weight;
  }

  /** An answer or a read that was begun when `least` was certain shows this total. */
  show(total: number, least: number): string | null {
    if (total < least || total > this.most) {
      return `a total of ${total} is shown, which must be from ${least} to ${this.most}`;
    }
    this.shown = Math.max(this.shown, total);
    return null;
  }

  /** After a restart: which of the open ones were counted, or a complaint. */
  settle(total: number): Settled {
    const { certain, shown } = this;
    const open = [...this.open];
    const extra = total - certain;
    const counted = open.filter((weight) => Math.floor(extra / weight) % 2 === 1);
    const explained = counted.reduce((sum, weight) => sum + weight, 0);
    this.open.clear();
    this.certain = total;
    if (extra !== explained) {
      const asked = `${certain} were acknowledged, ${open.join("+") || 0} are open`;
      return { broken: "counts", complaint: `the total is ${total}: ${asked}` };
    }
    if (total < shown) {
      return { broken: "reads", complaint: `the total is ${total}; a read had shown ${shown}` };
    }
    return { broken: null, counted: new Set(counted) };
  }
}

/** A license request that was handed out, with what it says of the auditor's record. */
export interface Made {
  readonly id: string;
  readonly audit: { readonly seq: number; readonly sum: string };
}

/** All that is known of one folder. */
export class Ledger {
  readonly users: ReadonlyMap<string, User>;
  readonly counters = { license: new Counter(), feature: new Counter() };
  readonly requests: Made[] = [];
  /** The newest line of the journal that anybody was shown. */
  seq = 0;

  constructor(users: readonly User[]) {
    this.users = new Map(users.map((user) => [user.name, user]));
  }
}

export type Which = keyof Ledger["counters"];
