import { findUndoneJumps } from "../domain/clock/clock-jumps.ts";
import type { ClockJumped, ClockSetBack } from "../domain/model/event.ts";
import { earliest, latest, type Instant } from "../domain/time.ts";
import { licensePoolKey, SessionCollector } from "./collect-sessions.ts";
import { TermsCollector } from "./collect-terms.ts";
import { WaitCollector } from "./collect-waits.ts";
import type { FinalState, PoolSizes } from "./final-state.ts";
import type { KnownBefore, RecordedEvent, RecordedLine } from "./recorded-line.ts";
import type {
  ClockPeriod,
  CountedConsumption,
  EndedEpisode,
  MissingLines,
  SharingChange,
  SiteRecord,
  UntouchedSlots,
} from "./site-record.ts";

const NOTHING_KNOWN: KnownBefore = {
  terms: new Map(),
  borrows: new Map(),
  places: new Set(),
};

/**
 * Builds a site record from lines of the audit log, oldest first, and the state after them. The
 * state before them is not needed: what was held then ends in a line, or is held in the state.
 */
export class SiteRecordCollector {
  readonly #from: Instant | null;
  #firstAt: Instant | null = null;
  #lastAt: Instant | null = null;
  #lastAuditSeq: number | null = null;
  /** The clock periods that are over. */
  readonly #clockPeriods: ClockPeriod[] = [];
  #periodFrom: Instant | null = null;
  /** The jumps forward in the current clock period. */
  readonly #jumps: ClockJumped[] = [];
  readonly #sessions: SessionCollector;
  readonly #terms: TermsCollector;
  readonly #waits: WaitCollector;
  readonly #sharing: SharingChange[] = [];
  /** A license was removed that is older than the record. */
  #hasUnknownHolders = false;
  readonly #episodes: EndedEpisode[] = [];
  readonly #missing: MissingLines[] = [];
  readonly #consumptions: Omit<CountedConsumption, "product">[] = [];

  /** `from`: the record begins there; null: with the first line. */
  constructor(from: Instant | null = null, before: KnownBefore = NOTHING_KNOWN) {
    this.#from = from;
    this.#periodFrom = from;
    this.#sessions = new SessionCollector(before.borrows);
    this.#terms = new TermsCollector(before.terms);
    this.#waits = new WaitCollector(before.places);
  }

  /**
   * Whether the record lacks what only older lines say: the terms of a license before it was
   * renewed, or who held slots of a license that was removed.
   */
  get needsOlderLines(): boolean {
    return this.#terms.hasUnknownTerms || this.#hasUnknownHolders;
  }

  /** Whether other rules, which only older lines say, may have been in force at its begin. */
  get needsOlderRules(): boolean {
    return this.#hasRulesApplied;
  }

  get #hasRulesApplied(): boolean {
    return this.#sharing.some(({ event }) => event.type === "RulesApplied");
  }

  addLine({ seq, at, audit_seq: auditSeq, events }: RecordedLine): void {
    this.#firstAt ??= at;
    this.#periodFrom ??= at;
    if (auditSeq !== undefined) {
      const isGap = this.#lastAuditSeq !== null && auditSeq !== this.#lastAuditSeq + 1;
      if (isGap) this.#markGap(this.#lastAt ?? at, at, auditSeq - 1);
      this.#lastAuditSeq = auditSeq;
    }
    for (const event of events) this.#addEvent(event, seq);
    this.#lastAt = at;
  }

  /** No line after the last one could be read up to this one, which is the newest. */
  endWithout(lastLine: number, now: Instant): void {
    if ((this.#lastAuditSeq ?? 0) < lastLine) this.#markGap(this.#lastAt ?? now, now, lastLine);
  }

  #markGap(from: Instant, to: Instant, lastLine: number): void {
    const clockPeriod = this.#clockPeriods.length;
    this.#sessions.markGap(from, clockPeriod);
    this.#waits.markGap(from, clockPeriod);
    const firstLine = (this.#lastAuditSeq ?? 0) + 1;
    this.#missing.push({ from, to: latest(from, to), firstLine, lastLine, clockPeriod });
  }

  #addEvent(event: RecordedEvent, seq: number): void {
    if (event.type === "ClockSetBack") return this.#startClockPeriod(event, seq);
    if (event.type === "ClockJumped") this.#jumps.push(event);
    const position = { at: event.at, clockPeriod: this.#clockPeriods.length, seq };
    switch (event.type) {
      case "EpisodeEnded": {
        const { type: _type, at: _at, ...episode } = event;
        this.#episodes.push({ ...episode, clockPeriod: position.clockPeriod });
        return;
      }
      case "ConsumptionAdded":
      case "FeatureConsumptionAdded": {
        const { license, user, at, count, total } = event;
        const feature = event.type === "ConsumptionAdded" ? null : event.feature;
        const { clockPeriod } = position;
        this.#consumptions.push({ license, feature, user, at, count, total, clockPeriod, seq });
        return;
      }
      case "LicenseRemoved":
        this.#sessions.endAllOf(event.license, position);
        this.#hasUnknownHolders ||= !this.#terms.isInstalledInRecord(event.license);
        return this.#terms.addEvent(event, position);
      case "LicenseInstalled":
      case "MovedAway":
      case "MovedIn":
        return this.#terms.addEvent(event, position);
      case "PlaceTaken":
      case "PlaceLeft":
      case "HoldGiven":
      case "HoldWithdrawn":
      case "PlaceMoved":
      case "RulesApplied":
      case "ReservationRecalled":
        this.#sharing.push({ event, clockPeriod: position.clockPeriod, seq });
        return this.#waits.addEvent(event, position);
      default:
        this.#sessions.addEvent(event, position);
    }
  }

  #startClockPeriod({ from, to }: ClockSetBack, endSeq: number): void {
    const [wrong] = findUndoneJumps(this.#jumps, to);
    const period = { from: this.#periodFrom ?? from, to: from, endSeq };
    this.#clockPeriods.push(wrong === undefined ? period : { ...period, wrongFrom: wrong.from });
    this.#periodFrom = to;
    this.#jumps.length = 0;
  }

  /** The index of the clock period of the last line. */
  get clockPeriodIndex(): number {
    return this.#clockPeriods.length;
  }

  /** Whether the clock was set back within the record. */
  get hasSetBack(): boolean {
    return this.#clockPeriods.length > 0;
  }

  /**
   * What was held during the whole record, if `final` lists only the slots that have ended. The
   * record itself does not contain it: a site may hold a million slots.
   */
  listUntouched({ holders, now, products }: FinalState, sizes: PoolSizes): UntouchedSlots[] {
    const open = this.#sessions.countOpen();
    const listed = new Map<string, number>();
    for (const { license, feature, slot } of holders) {
      const key = licensePoolKey(license, feature);
      if (!this.#sessions.isOpen(slot)) listed.set(key, (listed.get(key) ?? 0) + 1);
    }
    const ended = new Set(holders.map(({ slot }) => slot));
    const borrows = [...this.#sessions.listUntouchedBorrows()].filter(([slot]) => !ended.has(slot));
    const ofLicense = Map.groupBy(borrows, ([, { license }]) => license);
    return sizes.flatMap(({ license, feature, size }) => {
      const key = licensePoolKey(license, feature);
      const product = products.get(license);
      const count = size - (open.get(key) ?? 0) - (listed.get(key) ?? 0);
      if (count === 0 || product === undefined) return [];
      const ends = feature === null ? (ofLicense.get(license) ?? []) : [];
      const borrowedUntil = ends.map(([, { until }]) => earliest(until, now));
      return [{ product, feature, count, borrowedUntil }];
    });
  }

  /** What the next record, which begins with the state `final`, cannot know from its own lines. */
  listKnown(final: FinalState): KnownBefore {
    return {
      terms: final.terms,
      borrows: this.#sessions.listOpenBorrows(final),
      places: new Set(final.places.map(({ place }) => place)),
    };
  }

  /**
   * The record, completed by the state after the last line. More lines can be added afterwards, for
   * a later record.
   */
  finish(final: FinalState): SiteRecord {
    const { now } = final;
    const from = this.#from ?? this.#firstAt ?? now;
    const lastPeriod = { from: this.#periodFrom ?? from, to: now };
    const clockPeriods = [...this.#clockPeriods, lastPeriod];
    const products = new Map([...this.#terms.products, ...final.products]);
    return {
      from,
      to: now,
      clockPeriods,
      sessions: this.#sessions.finish(final, clockPeriods.length, products),
      episodes: [...this.#episodes],
      terms: this.#terms.finish(final, from, clockPeriods.length),
      consumptions: this.#consumptions.flatMap((consumption) => {
        const product = products.get(consumption.license);
        return product === undefined ? [] : [{ product, ...consumption }];
      }),
      waits: this.#waits.finish(final, clockPeriods.length),
      rulesBefore: this.#hasRulesApplied ? null : final.rules,
      sharing: [...this.#sharing],
      missing: [...this.#missing],
    };
  }
}
