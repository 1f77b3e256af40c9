import type { MovedAway, MovedIn } from "../domain/model/event.ts";
import type {
  LicenseInstalled,
  LicenseRemoved,
} from "../domain/model/licenses/license-event-types.ts";
import type { Instant } from "../domain/time.ts";
import type { KnownTerms, RecordPosition } from "./recorded-line.ts";
import type { FinalState } from "./final-state.ts";
import type { TermsPeriod } from "./site-record.ts";

interface TermsInForce extends KnownTerms {
  /** Null: since before the record. */
  readonly since: Moment | null;
}

type Moment = Omit<RecordPosition, "seq"> & { readonly seq: number | null };

/** Null at `from`: since before the record; null at `to`: still in force. */
interface CollectedTerms extends KnownTerms {
  readonly license: number;
  readonly from: Moment | null;
  readonly to: Moment | null;
}

/** Collects which terms were in force when. After a move to another host, none are. */
export class TermsCollector {
  readonly #inForce = new Map<number, TermsInForce>();
  readonly #periods: CollectedTerms[] = [];
  #hasUnknownTerms = false;
  /** Licenses that a line installed or removed. */
  readonly #known = new Set<number>();
  /** Licenses that a line installed anew. */
  readonly #installed = new Set<number>();
  readonly #moves: { readonly away: Moment | null; back: Moment | null }[] = [];
  readonly products = new Map<number, string>();

  constructor(before: ReadonlyMap<number, KnownTerms>) {
    for (const [license, known] of before) {
      this.#inForce.set(license, { ...known, since: null });
      this.#known.add(license);
      this.products.set(license, known.terms.product);
    }
  }

  /** A line replaced or removed a license, and no line of the record installed it before. */
  get hasUnknownTerms(): boolean {
    return this.#hasUnknownTerms;
  }

  /** Whether all slots of the license were taken in the record. */
  isInstalledInRecord(license: number): boolean {
    return this.#installed.has(license);
  }

  addEvent(
    event: LicenseInstalled | LicenseRemoved | MovedAway | MovedIn,
    moment: RecordPosition,
  ): void {
    if (event.type === "MovedAway") {
      this.#moves.push({ away: moment, back: null });
      return;
    }
    if (event.type === "MovedIn") {
      const move = this.#moves.at(-1);
      if (move !== undefined && move.back === null) move.back = moment;
      else if (move === undefined) this.#moves.push({ away: null, back: moment });
      return;
    }
    const { license } = event;
    const isReplacement = event.type === "LicenseRemoved" || event.changes !== undefined;
    const current = this.#inForce.get(license);
    if (current !== undefined) {
      const { since, vendor, terms } = current;
      this.#periods.push({ license, vendor, terms, from: since, to: moment });
    } else if (!this.#known.has(license) && isReplacement) {
      this.#hasUnknownTerms = true;
    }
    this.#known.add(license);
    this.#inForce.delete(license);
    if (event.type === "LicenseRemoved") return;
    if (!isReplacement && current === undefined) this.#installed.add(license);
    const { terms, grant } = event;
    this.products.set(license, terms.product);
    this.#inForce.set(license, { vendor: grant.vendor, terms, since: moment });
  }

  finish(
    { terms: finalTerms, retiredAt }: FinalState,
    from: Instant,
    periodCount: number,
  ): readonly TermsPeriod[] {
    const periods = [...this.#periods];
    for (const [license, known] of finalTerms) {
      // No line of the record changed them.
      if (!this.#known.has(license)) periods.push({ license, ...known, from: null, to: null });
    }
    for (const [license, { vendor, terms, since }] of this.#inForce) {
      // Removed in lines that are missing: nothing says when.
      if (!finalTerms.has(license)) continue;
      periods.push({ license, vendor, terms, from: since, to: null });
    }
    const moves = [...this.#moves];
    // It was moved away before the record, or in lines that are missing.
    if (retiredAt !== null && moves.at(-1)?.back !== null) {
      moves.push({ away: { at: retiredAt, clockPeriod: periodCount - 1, seq: null }, back: null });
    }
    const start = { at: from, clockPeriod: 0, seq: null };
    return moves
      .reduce((rest, { away, back }) => rest.flatMap((p) => cutOut(p, away, back)), periods)
      .map(({ from: begin, to, ...terms }) => ({
        ...terms,
        from: (begin ?? start).at,
        startPeriod: (begin ?? start).clockPeriod,
        startSeq: (begin ?? start).seq,
        to: to?.at ?? null,
        endPeriod: to?.clockPeriod ?? periodCount - 1,
        endSeq: to?.seq ?? null,
      }));
  }
}

/** The parts of the period before `away` and after `back`. */
function cutOut(
  period: CollectedTerms,
  away: Moment | null,
  back: Moment | null,
): readonly CollectedTerms[] {
  const before = away !== null && isBefore(period.from, away);
  const after = back !== null && (period.to === null || isBefore(back, period.to));
  const isCutAtEnd = away !== null && (period.to === null || isBefore(away, period.to));
  const isCutAtStart = back !== null && isBefore(period.from, back);
  return [
    ...(before ? [isCutAtEnd ? { ...period, to: away } : period] : []),
    ...(after ? [isCutAtStart ? { ...period, from: back } : period] : []),
  ];
}

/** Null: before everything. */
const isBefore = (a: Moment | null, b: Moment): boolean =>
  a === null || a.clockPeriod < b.clockPeriod || (a.clockPeriod === b.clockPeriod && a.at < b.at);
