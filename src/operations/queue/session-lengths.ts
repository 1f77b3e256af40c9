import type { Event } from "../../domain/model/event.ts";
import type { State } from "../../domain/model/state.ts";
import { DAY, type Instant } from "../../domain/time.ts";
import type { StoreObserver } from "../../store/store-options.ts";

/** Older sessions say too little about the present. */
export const SESSION_AGE = 30 * DAY;

/** Of a product with more sessions, only every second, fourth, … one is kept. */
const MAX_KEPT = 4_000;

/** With fewer, sessions are kept at twice the rate again. */
const MIN_KEPT = 1_000;

/** Ends that are remembered until the audit log says when those sessions began. */
const MAX_EARLY_ENDS = 10_000;

/** The sessions of one product, or an even share of them: those with certain slot numbers. */
interface ProductSessions {
  /** One session of so many is kept, by its slot number. */
  stride: number;
  /** Sessions that have not ended, by slot. */
  readonly open: Map<number, { readonly license: number; readonly start: Instant }>;
  /** In the order in which they ended, nearly. */
  ended: { readonly slot: number; readonly end: Instant; readonly length: number }[];
  /** The lengths of `ended`, the shortest first; null: not sorted yet. */
  sorted: readonly number[] | null;
}

export interface EndedSessions {
  /** The shortest first. */
  readonly lengths: readonly number[];
  /** `lengths` may be a sample of so many. */
  readonly count: number;
}

const NO_SESSIONS: EndedSessions = { lengths: [], count: 0 };

/**
 * How long the sessions of each product were in the last 30 days, borrowed ones left out. It sees
 * every event once it is applied; `addRecorded` adds those of the audit log before the start.
 */
export class SessionLengths implements StoreObserver {
  readonly #products = new Map<string, ProductSessions>();
  /** Null: all of the audit log that is wanted was added. */
  #earlyEnds: Map<number, Instant> | null = new Map();

  applied(events: readonly Event[], state: State): void {
    for (const event of events) {
      // Nearly all events are heartbeats.
      if (event.type === "SlotRenewed") continue;
      if (!this.#add(event, state)) this.#noteEarlyEnd(event);
    }
  }

  durable(): void {}

  /** A host that begins to lead must know the sessions of the pair. */
  followed(events: readonly Event[], state: State): void {
    this.applied(events, state);
  }

  /** Adds an event of the audit log; all of them in their order. */
  addRecorded(event: Event, state: State): void {
    this.#add(event, state);
    if (event.type !== "SlotTaken") return;
    const end = this.#earlyEnds?.get(event.slot);
    if (end !== undefined) this.#end(event, end, state);
  }

  /** The audit log has no more to add. */
  endRecorded(): void {
    this.#earlyEnds = null;
  }

  /** The sessions that ended in the last 30 days. */
  read(product: string, at: Instant): EndedSessions {
    const sessions = this.#products.get(product);
    if (sessions === undefined) return NO_SESSIONS;
    dropOld(sessions, at);
    sessions.sorted ??= sessions.ended.map(({ length }) => length).toSorted((a, b) => a - b);
    return { lengths: sessions.sorted, count: sessions.ended.length * sessions.stride };
  }

  /** False: the event ends a session whose begin is not known. */
  #add(event: Event, state: State): boolean {
    switch (event.type) {
      case "SlotTaken": {
        const sessions = this.#sessionsOf(event.license, state);
        if (sessions === null || event.slot % sessions.stride !== 0) return true;
        sessions.open.set(event.slot, { license: event.license, start: event.at });
        if (sessions.open.size > MAX_KEPT) halve(sessions);
        return true;
      }
      case "SlotBorrowed":
      case "SlotRestored":
        this.#sessionsOf(event.license, state)?.open.delete(event.slot);
        return true;
      case "SlotReleased":
      case "SlotExpired":
        return this.#end(event, event.at, state);
      case "LicenseRemoved":
        this.#forgetOpen((license) => license === event.license);
        return true;
      case "ClockSetBack":
        // A length across a set-back would be wrong.
        this.#forgetOpen(() => true);
        return true;
      default:
        return true;
    }
  }

  #end({ license, slot }: SlotOfLicense, end: Instant, state: State): boolean {
    const sessions = this.#sessionsOf(license, state);
    if (sessions === null || slot % sessions.stride !== 0) return true;
    const open = sessions.open.get(slot);
    if (open === undefined) return false;
    sessions.open.delete(slot);
    if (end < open.start) return true;
    sessions.ended.push({ slot, end, length: end - open.start });
    sessions.sorted = null;
    if (sessions.ended.length > MAX_KEPT) halve(sessions);
    return true;
  }

  #noteEarlyEnd(event: Event): void {
    if (this.#earlyEnds === null || this.#earlyEnds.size >= MAX_EARLY_ENDS) return;
    if ("slot" in event) this.#earlyEnds.set(event.slot, event.at);
  }

  #forgetOpen(isForgotten: (license: number) => boolean): void {
    for (const { open } of this.#products.values()) {
      for (const [slot, { license }] of open) if (isForgotten(license)) open.delete(slot);
    }
  }

  /** Null: the license is not installed now. */
  #sessionsOf(license: number, { licenses }: State): ProductSessions | null {
    const product = licenses.get(license)?.terms.product;
    if (product === undefined) return null;
    let sessions = this.#products.get(product);
    if (sessions === undefined) {
      sessions = { stride: 1, open: new Map(), ended: [], sorted: null };
      this.#products.set(product, sessions);
    }
    return sessions;
  }
}

interface SlotOfLicense {
  readonly license: number;
  readonly slot: number;
}

function halve(sessions: ProductSessions): void {
  sessions.stride *= 2;
  const isKept = (slot: number): boolean => slot % sessions.stride === 0;
  sessions.ended = sessions.ended.filter(({ slot }) => isKept(slot));
  sessions.sorted = null;
  for (const slot of sessions.open.keys()) if (!isKept(slot)) sessions.open.delete(slot);
}

function dropOld(sessions: ProductSessions, at: Instant): void {
  const oldest = at - SESSION_AGE;
  const { ended } = sessions;
  if (ended[0] === undefined || ended[0].end >= oldest) return;
  sessions.ended = ended.filter(({ end }) => end >= oldest);
  sessions.sorted = null;
  if (sessions.stride > 1 && sessions.ended.length < MIN_KEPT) sessions.stride /= 2;
}
