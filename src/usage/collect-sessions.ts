import { earliest, instant, type Instant } from "../domain/time.ts";
import type { KnownBorrow, RecordedEvent, RecordPosition } from "./recorded-line.ts";
import type { FinalState, HeldSlot } from "./final-state.ts";
import type { Borrow, Session } from "./site-record.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** Its product is known when the record is finished. */
type OpenSession = Mutable<Omit<Session, "borrows">> & { readonly borrows: Borrow[] };

/** Collects sessions from events. A slot number belongs to one session, except after a restore. */
export class SessionCollector {
  readonly #borrowsBefore: ReadonlyMap<number, KnownBorrow>;
  readonly #ended: OpenSession[] = [];
  /** By slot, in the order in which they were taken. */
  readonly #open = new Map<number, OpenSession>();
  /** The open sessions of slots without a feature, by license and user; null: not needed yet. */
  #openByUser: Map<string, OpenSession> | null = null;
  /** Lines are missing: where, and the newest slot that was taken before them. */
  #gap: { readonly at: Instant; readonly clockPeriod: number; readonly newestSlot: number } | null =
    null;
  #newestSlot = 0;
  /** Slots that were borrowed before the first line, and that a line concerns. */
  readonly #seenSlots = new Set<number>();
  /** Sessions that were open before the missing lines, and may have ended in them. */
  readonly #endedInGap = new Map<number, { at: Instant; clockPeriod: number }>();

  constructor(borrowsBefore: ReadonlyMap<number, KnownBorrow>) {
    this.#borrowsBefore = borrowsBefore;
  }

  markGap(at: Instant, clockPeriod: number): void {
    this.#gap = { at, clockPeriod, newestSlot: this.#newestSlot };
    for (const slot of this.#open.keys()) {
      if (!this.#endedInGap.has(slot)) this.#endedInGap.set(slot, { at, clockPeriod });
    }
  }

  addEvent(event: RecordedEvent, position: RecordPosition): void {
    switch (event.type) {
      case "SlotTaken": {
        const { hostname, peer } = event.contact;
        const session = this.#take(event, null, hostname, peer, position);
        if (event.identity !== undefined) session.identity = event.identity;
        return;
      }
      case "FeatureTaken": {
        const { license, user, feature, peer } = event;
        const host = this.#findHolder(license, user)?.host ?? "";
        const session = this.#take(event, feature, host, peer, position);
        if (event.identity !== undefined) session.identity = event.identity;
        return;
      }
      case "SlotBorrowed": {
        const session = this.#findOrAdd(event, null);
        if (session.host === "") session.host = event.contact.hostname;
        if (session.peer === "") session.peer = event.contact.peer;
        addBorrow(session, event.until, position);
        return;
      }
      case "SlotRestored": {
        if (event.isHeld) {
          addBorrow(this.#findOrAdd(event, null), event.until, position);
          return;
        }
        const ended = this.#ended.findLast(({ slot }) => slot === event.slot);
        const { at: from, clockPeriod } = position;
        const { borrows } = this.#take(event, null, ended?.host ?? "", ended?.peer ?? "", position);
        borrows.push({ from, until: event.until, clockPeriod });
        return;
      }
      case "SlotReleased":
        return this.#end(event, null, position, event.by);
      case "FeatureReleased":
        return this.#end(event, event.feature, position, event.by);
      case "SlotExpired":
        return this.#end(event, null, position, "expiry");
      case "FeatureExpired":
        return this.#end(event, event.feature, position, "expiry");
      default:
    }
  }

  /** The license was removed, and its slots with it. */
  endAllOf(license: number, position: RecordPosition): void {
    for (const session of this.#open.values()) {
      if (session.license !== license) continue;
      this.#end(session, session.feature, position, "license_removed");
    }
  }

  /**
   * All sessions whose product is known, with the state after the last line. More lines can be
   * added afterwards.
   */
  finish(
    { holders, now }: FinalState,
    periodCount: number,
    products: ReadonlyMap<number, string>,
  ): readonly Session[] {
    const lastPeriod = periodCount - 1;
    const sessions: Session[] = [];
    const add = (session: OpenSession): void => {
      const product = products.get(session.license);
      if (product === undefined) return;
      session.product = product;
      sessions.push(session);
    };
    for (const session of this.#ended) add(session);
    const heldSlots = new Set<number>();
    for (const holder of holders) {
      const { slot, end } = holder;
      heldSlots.add(slot);
      const session = this.#open.get(slot) ?? this.#makeHeldSession(holder, now);
      const hasEnded = end <= now;
      add({
        ...session,
        endPeriod: lastPeriod,
        end: hasEnded ? end : null,
        endedBy: hasEnded ? "expiry" : null,
      });
    }
    for (const [slot, session] of this.#open) {
      if (heldSlots.has(slot)) continue;
      const ended = this.#endedInGap.get(slot) ?? { at: now, clockPeriod: lastPeriod };
      add({ ...session, end: ended.at, endPeriod: ended.clockPeriod });
    }
    return sessions;
  }

  /** The sessions that no line has ended, by license and feature. */
  countOpen(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { license, feature } of this.#open.values()) {
      const key = licensePoolKey(license, feature);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }

  /** Whether the session of a slot is open, as far as lines say. */
  isOpen(slot: number): boolean {
    return this.#open.has(slot);
  }

  /** The borrows that lasted before the first line, and that no line concerns. */
  *listUntouchedBorrows(): Generator<readonly [slot: number, borrow: KnownBorrow]> {
    for (const [slot, borrow] of this.#borrowsBefore) {
      if (!this.#seenSlots.has(slot)) yield [slot, borrow];
    }
  }

  /** The borrows that last at the end. */
  listOpenBorrows({ holders, now }: FinalState): Map<number, KnownBorrow> {
    const borrows = new Map<number, KnownBorrow>();
    const add = (slot: number, borrow: KnownBorrow): void => {
      if (borrow.until > now) borrows.set(slot, borrow);
    };
    for (const { license, slot, borrow } of holders) {
      if (borrow !== null && !this.#open.has(slot)) add(slot, { license, until: borrow.until });
    }
    for (const [slot, borrow] of this.listUntouchedBorrows()) add(slot, borrow);
    for (const [slot, { license, borrows: ofSession }] of this.#open) {
      const until = ofSession.at(-1)?.until;
      if (until !== undefined) add(slot, { license, until });
    }
    return borrows;
  }

  #take(
    slotOfUser: SlotOfUser,
    feature: string | null,
    host: string,
    peer: string,
    { at, clockPeriod, seq }: RecordPosition,
  ): OpenSession {
    const session = newSession(slotOfUser, feature, at, clockPeriod);
    session.startSeq = seq;
    session.host = host;
    session.peer = peer;
    this.#newestSlot = Math.max(this.#newestSlot, slotOfUser.slot);
    this.#add(session);
    return session;
  }

  #add(session: OpenSession): void {
    if (this.#borrowsBefore.has(session.slot)) this.#seenSlots.add(session.slot);
    this.#open.set(session.slot, session);
    if (session.feature === null) {
      this.#openByUser?.set(userKey(session.license, session.user), session);
    }
  }

  /** Only floating features need it: it costs as much as all the rest. */
  #findHolder(license: number, user: string): OpenSession | undefined {
    if (this.#openByUser === null) {
      this.#openByUser = new Map();
      for (const session of this.#open.values()) {
        if (session.feature !== null) continue;
        this.#openByUser.set(userKey(session.license, session.user), session);
      }
    }
    return this.#openByUser.get(userKey(license, user));
  }

  /** The open session of a slot, which may have begun before the record or in missing lines. */
  #findOrAdd(slotOfUser: SlotOfUser, feature: string | null): OpenSession {
    const open = this.#open.get(slotOfUser.slot);
    if (open !== undefined) return open;
    const session = this.#makeUnseenSession(slotOfUser, feature);
    this.#add(session);
    return session;
  }

  /** A session of which no line was added yet. */
  #makeUnseenSession(slotOfUser: SlotOfUser, feature: string | null): OpenSession {
    const isTakenInGap = this.#gap !== null && slotOfUser.slot > this.#gap.newestSlot;
    const session =
      isTakenInGap && this.#gap !== null
        ? newSession(slotOfUser, feature, this.#gap.at, this.#gap.clockPeriod)
        : newSession(slotOfUser, feature, null, 0);
    const until = this.#borrowsBefore.get(slotOfUser.slot)?.until;
    if (until !== undefined) session.borrows.push({ from: BEFORE, until, clockPeriod: 0 });
    return session;
  }

  #makeHeldSession(holder: HeldSlot, now: Instant): OpenSession {
    const { host, peer, borrow } = holder;
    const session = this.#makeUnseenSession(holder, holder.feature);
    session.host = host;
    session.peer = peer;
    if (borrow !== null && session.borrows.length === 0) {
      const from = earliest(borrow.from, now);
      session.borrows.push({ from, until: borrow.until, clockPeriod: 0 });
    }
    return session;
  }

  #end(
    slotOfUser: SlotOfUser,
    feature: string | null,
    position: RecordPosition,
    endedBy: NonNullable<Session["endedBy"]>,
  ): void {
    const session = this.#findOrAdd(slotOfUser, feature);
    this.#open.delete(session.slot);
    this.#endedInGap.delete(session.slot);
    if (this.#openByUser !== null) {
      const key = userKey(session.license, session.user);
      if (this.#openByUser.get(key) === session) this.#openByUser.delete(key);
    }
    session.end = position.at;
    session.endPeriod = position.clockPeriod;
    session.endSeq = position.seq;
    session.endedBy = endedBy;
    this.#ended.push(session);
  }
}

type SlotOfUser = Pick<Session, "license" | "user" | "slot">;

/** Before every record. */
const BEFORE = instant(-8_640_000_000_000_000);

export const licensePoolKey = (license: number, feature: string | null): string =>
  JSON.stringify([license, feature]);

const userKey = (license: number, user: string): string => `${license} ${user}`;

const newSession = (
  { license, user, slot }: SlotOfUser,
  feature: string | null,
  start: Instant | null,
  startPeriod: number,
): OpenSession => ({
  product: "",
  feature,
  license,
  user,
  slot,
  start,
  end: null,
  startPeriod,
  endPeriod: startPeriod,
  startSeq: null,
  endSeq: null,
  endedBy: null,
  host: "",
  peer: "",
  borrows: [],
});

/** A new end of a borrow replaces the end before. */
function addBorrow({ borrows }: OpenSession, until: Instant, position: RecordPosition): void {
  const { at, clockPeriod } = position;
  const last = borrows.at(-1);
  if (last !== undefined && last.clockPeriod === clockPeriod && last.until > at) {
    borrows[borrows.length - 1] = { ...last, until: at };
  }
  borrows.push({ from: at, until, clockPeriod });
}
