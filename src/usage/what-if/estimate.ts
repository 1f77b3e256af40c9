import { later, type Instant } from "../../domain/time.ts";
import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import type { Terms } from "../../domain/model/licenses/terms.ts";
import { visitInSteps, type InSteps } from "../report/report.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { Session, SiteRecord, TermsPeriod } from "../site-record.ts";
import { rulesOf } from "../rules-of-event.ts";
import { isInForce } from "../terms-in-force.ts";
import { medianOf, type Demand, type Need } from "./demand.ts";
import { HELD, readCaps, ReplayedSite } from "./replayed-site.ts";
import type { DemandMet } from "./what-if.ts";

const PIECE = 100;

/** Estimates how the demand for a pool would have been met with another number of slots. */
export function* estimateDemandMet(
  record: SiteRecord,
  key: PoolName,
  demand: Demand,
  slots: number,
): InSteps<DemandMet> {
  const waits: number[] = [];
  let [metAtOnce, notMet, decisions] = [0, 0, 0];
  for (const [clockPeriod, period] of record.clockPeriods.entries()) {
    const site = new SizedSite(key, slots);
    const queue = new TimedQueue<Step>();
    const inForce = record.terms.filter(
      (terms) => isInForce(terms, clockPeriod, period.from) && !isInstalledIn(terms, clockPeriod),
    );
    for (const terms of inForce) site.install(terms);
    site.applyRules(findRulesBefore(record, clockPeriod), period.from);
    yield;
    const steps = listSteps(record, key, demand, clockPeriod);
    yield* visitInSteps(steps, (step) => queue.add(step.at, step));
    for (let step = queue.takeFirst(); step !== null; step = queue.takeFirst()) {
      decisions += 1;
      if (decisions % PIECE === 0) yield;
      if (step.kind !== "need") {
        site.apply(step);
        continue;
      }
      const { need, at } = step;
      const waited = at - need.at;
      if (site.grant(need, at)) {
        if (waited > 0) waits.push(waited);
        else metAtOnce += 1;
      } else if (waited >= need.patience) notMet += 1;
      else {
        const next = Math.min(waited + need.retryInterval, need.patience);
        queue.add(later(need.at, next), { ...step, at: later(need.at, next) });
      }
    }
  }
  return {
    needs: demand.needs.length,
    metAtOnce,
    metAfterWaiting: waits.length,
    notMet,
    medianWait: medianOf(waits),
  };
}

type Step = { readonly at: Instant } & (
  | { readonly kind: "need"; readonly need: Need }
  | { readonly kind: "terms"; readonly terms: TermsPeriod }
  | { readonly kind: "removal"; readonly terms: TermsPeriod }
  | { readonly kind: "rules"; readonly rules: RuleSet | null }
  | { readonly kind: "session"; readonly session: Session; readonly end: Instant }
);

const isInstalledIn = ({ startSeq, startPeriod }: TermsPeriod, clockPeriod: number): boolean =>
  startSeq !== null && startPeriod === clockPeriod;

/** What happened in one clock period: sessions of other pools are as recorded. */
function listSteps(
  { terms, sessions, clockPeriods, sharing }: SiteRecord,
  key: PoolName,
  { needs, sessions: replaced }: Demand,
  clockPeriod: number,
): Step[] {
  const steps: Step[] = [];
  const periodFrom = clockPeriods[clockPeriod]?.from;
  if (periodFrom === undefined) return steps;
  const renewed = new Set(terms.map(({ license, startSeq }) => `${license} ${startSeq}`));
  for (const period of terms) {
    const { license, endSeq, to } = period;
    if (isInstalledIn(period, clockPeriod))
      steps.push({ kind: "terms", at: period.from, terms: period });
    const isRemoved = endSeq !== null && to !== null && !renewed.has(`${license} ${endSeq}`);
    if (isRemoved && period.endPeriod === clockPeriod)
      steps.push({ kind: "removal", at: to, terms: period });
  }
  for (const change of sharing) {
    if (change.event.type === "RulesApplied" && change.clockPeriod === clockPeriod)
      steps.push({ kind: "rules", at: change.event.at, rules: rulesOf(change.event) });
  }
  const hasCaps = needs.some(({ rule }) => rule !== null);
  for (const session of sessions) {
    const { product, start, startPeriod, endPeriod } = session;
    if (startPeriod > clockPeriod || endPeriod < clockPeriod) continue;
    // A need that outlasts its clock period is held in the next one as it was on record.
    const isNeed = startPeriod === clockPeriod && replaced.has(session);
    if (isNeed || (product !== key.product && !hasCaps)) continue;
    const at = startPeriod === clockPeriod && start !== null ? start : periodFrom;
    const end = endPeriod === clockPeriod ? (session.end ?? HELD) : HELD;
    steps.push({ kind: "session", at, session, end });
  }
  for (const need of needs) {
    if (need.clockPeriod === clockPeriod) steps.push({ kind: "need", at: need.at, need });
  }
  return steps;
}

/** A site whose licenses have together a chosen number of slots in one pool. */
class SizedSite {
  readonly #site = new ReplayedSite();
  readonly #key: PoolName;
  readonly #slots: number;
  readonly #installed = new Map<number, TermsPeriod>();

  constructor(key: PoolName, slots: number) {
    this.#key = key;
    this.#slots = slots;
  }

  install(period: TermsPeriod): void {
    this.#site.install(period, period.terms);
    this.#installed.set(period.license, period);
    this.#resize(period.terms.product);
  }

  apply(step: Exclude<Step, { readonly kind: "need" }>): void {
    if (step.kind === "terms") return this.install(step.terms);
    if (step.kind === "removal") {
      this.#site.remove(step.terms);
      this.#installed.delete(step.terms.license);
      return this.#resize(step.terms.terms.product);
    }
    if (step.kind === "rules") return this.applyRules(step.rules, step.at);
    this.#site.force(step.session, step.at);
    this.#site.setEnd(step.session, step.end, step.at);
  }

  /** The rules of sharing from here on; null: none. */
  applyRules(rules: RuleSet | null, at: Instant): void {
    this.#site.applyRules(rules, at);
  }

  /** Whether the rules grant the need now; the slot then ends after its duration. */
  grant({ user, peer, host, duration, rule }: Need, at: Instant): boolean {
    const wish = { ...this.#key, user, peer, host, license: null };
    const granted = this.#site.request(wish, at, readCaps(rule));
    if (typeof granted === "string") return false;
    this.#site.setEnd(granted, duration >= HELD ? HELD : later(at, duration), at);
    return true;
  }

  /** Each license keeps its slots as far as they reach; the last one gets the rest. */
  #resize(product: string): void {
    if (product !== this.#key.product) return;
    let rest = this.#slots;
    const licenses = this.#site
      .listLicenses(product)
      .flatMap((id) => this.#installed.get(id) ?? [])
      .filter(({ terms }) => countSlots(terms, this.#key.feature) !== null);
    for (const [index, period] of licenses.entries()) {
      const isLast = index === licenses.length - 1;
      const slots = isLast
        ? rest
        : Math.min(rest, countSlots(period.terms, this.#key.feature) ?? 0);
      rest -= slots;
      this.#site.install(period, withSlots(period.terms, this.#key.feature, slots));
    }
  }
}

/** The rules that were in force when a clock period began. */
function findRulesBefore({ rulesBefore, sharing }: SiteRecord, clockPeriod: number) {
  let rules = rulesBefore;
  for (const { event, clockPeriod: period } of sharing) {
    if (event.type === "RulesApplied" && period < clockPeriod) rules = rulesOf(event);
  }
  return rules;
}

function countSlots({ slots, features }: Terms, feature: string | null): number | null {
  if (feature === null) return slots;
  return features.find(({ code }) => code === feature)?.floating?.slots ?? null;
}

const withSlots = (terms: Terms, feature: string | null, slots: number): Terms =>
  feature === null
    ? { ...terms, slots }
    : {
        ...terms,
        features: terms.features.map((current) =>
          current.code === feature && current.floating !== null
            ? { ...current, floating: { ...current.floating, slots } }
            : current,
        ),
      };

interface Entry<T> {
  readonly at: Instant;
  /** Entries of the same instant leave in the order in which they came. */
  readonly order: number;
  readonly item: T;
}

/** A heap: the entry with the earliest time is first. */
class TimedQueue<T> {
  readonly #entries: Entry<T>[] = [];
  #count = 0;

  add(at: Instant, item: T): void {
    const entry = { at, order: (this.#count += 1), item };
    let index = this.#entries.length;
    for (;;) {
      const parent = this.#entries[(index - 1) >> 1];
      if (index === 0 || parent === undefined || isBefore(parent, entry)) break;
      this.#entries[index] = parent;
      index = (index - 1) >> 1;
    }
    this.#entries[index] = entry;
  }

  takeFirst(): T | null {
    const first = this.#entries[0] ?? null;
    const last = this.#entries.pop();
    if (last === undefined || first === null) return null;
    if (this.#entries.length > 0) this.#sink(last);
    return first.item;
  }

  #sink(entry: Entry<T>): void {
    let index = 0;
    for (;;) {
      const [left, right] = [this.#entries[2 * index + 1], this.#entries[2 * index + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(entry, child)) break;
      this.#entries[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    this.#entries[index] = entry;
  }
}

const isBefore = <T>(a: Entry<T>, b: Entry<T>): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);
