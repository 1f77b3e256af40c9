import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import { instant, latest, type Instant } from "../../domain/time.ts";
import type { InSteps } from "../report/report.ts";
import type { ClockPeriod, EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { listReplayItems, type ReplayItem } from "./replay-items.ts";
import { HELD, readCaps, ReplayedSite, type GrantedSlot } from "./replayed-site.ts";
import type { ReplayCheck, ReplayDifference } from "./what-if.ts";

const MAX_DIFFERENCES = 20;
const PIECE = 100;

/**
 * Decides the whole record again with the limits that were in force, in the order of the journal.
 * The record of a complete audit log is reproduced without a difference.
 */
export function* replayRecorded(
  record: Omit<SiteRecord, "consumptions" | "waits">,
): InSteps<ReplayCheck> {
  const replay = new RecordedReplay(record.clockPeriods);
  if (record.rulesBefore !== null) replay.applyRules(record.rulesBefore, record.from);
  for (const period of record.terms) if (period.startSeq === null) replay.install(period);
  for (const session of record.sessions) if (session.start === null) replay.continue(session);
  yield;
  const items = listReplayItems(record);
  for (const [index, item] of items.entries()) {
    replay.apply(item);
    if (index % PIECE === PIECE - 1) yield;
  }
  return replay.check;
}

type ActiveSessions = Map<string, Session>;

class RecordedReplay {
  readonly #site = new ReplayedSite();
  readonly #clockPeriods: readonly ClockPeriod[];
  readonly #active: ActiveSessions = new Map();
  readonly #differences: ReplayDifference[] = [];
  #period = 0;
  /** The time of the last line. */
  #lastAt: Instant = instant(0);
  readonly #counts = { refusals: 0, refusalsReproduced: 0, grants: 0, grantsReproduced: 0 };

  constructor(clockPeriods: readonly ClockPeriod[]) {
    this.#clockPeriods = clockPeriods;
  }

  get check(): ReplayCheck {
    return { ...this.#counts, differences: this.#differences };
  }

  install(period: SiteRecord["terms"][number]): void {
    this.#site.install(period, period.terms);
  }

  applyRules(rules: RuleSet, at: Instant): void {
    this.#site.applyRules(rules, at);
  }

  /** The session was held when the record began. */
  continue(session: Session): void {
    this.#site.force(session, session.end ?? HELD);
    this.#hold(session, session.end ?? HELD);
  }

  apply(item: ReplayItem): void {
    const clockPeriod = item.clockPeriod ?? this.#periodAfter(item.seq);
    if (clockPeriod > this.#period) this.#setClockBack(clockPeriod, item.at);
    if (item.kind !== "refusal") this.#lastAt = item.at;
    switch (item.kind) {
      case "terms":
        return this.install(item.terms);
      case "removal":
        this.#site.remove(item.terms);
        for (const [key, { license }] of this.#active)
          if (license === item.terms.license) this.#active.delete(key);
        return;
      case "end":
        this.#active.delete(keyOf(item.session));
        return this.#site.release(item.session, item.at);
      case "start":
        return this.#grant(item.session, item.at);
      case "sharing":
        return this.#site.share(item.event);
      case "refusal":
        return this.#refuse(item.episode, item.at, item.isFirst);
    }
  }

  #grant(session: Session, at: Instant): void {
    if (!this.#site.hasLicense(session.license)) return;
    this.#counts.grants += 1;
    const decision = this.#site.request(session, at);
    if (typeof decision === "string") {
      const { user } = session;
      const [expected, isTimeKnown] = ["granted", true];
      this.#addDifference({ what: "grant", user, at, expected, decided: decision, isTimeKnown });
      this.#site.force(session, at);
    } else this.#counts.grantsReproduced += 1;
    this.#hold(session, at);
  }

  #refuse(episode: EndedEpisode, recordedAt: Instant, isFirst: boolean): void {
    // With the clock, the times of an open episode were set back. It was refused after the line
    // before it, and perhaps with another code than at that time. If the user's own slot ended in
    // between, and no line says so yet, the replay finds it still held: a difference.
    const isMoved = episode.clockPeriod > this.#period;
    const at = isMoved ? latest(recordedAt, this.#lastAt) : recordedAt;
    const { product, feature, user } = episode;
    const { code, rule, peer } = isFirst ? (episode.first ?? episode) : episode;
    this.#counts.refusals += 1;
    const wish = { product, feature, user, peer, host: "", license: null };
    const decision = this.#site.request(wish, at, readCaps(rule));
    if (typeof decision !== "string") this.#site.release(decision, at);
    if (decision === code || (isMoved && typeof decision === "string"))
      this.#counts.refusalsReproduced += 1;
    else {
      const decided = typeof decision === "string" ? decision : "granted";
      const isTimeKnown = !isMoved;
      this.#addDifference({ what: "refusal", user, at, expected: code, decided, isTimeKnown });
    }
  }

  #hold(session: Session, at: Instant): void {
    this.#active.set(keyOf(session), session);
    this.#site.setEnd(session, this.#endOf(session), at);
  }

  /** When the session ends on the clock of the current period. */
  #endOf(session: Session): Instant {
    const { start, end, endPeriod, endSeq, endedBy } = session;
    if (end === null || (endSeq !== null && endedBy !== "expiry")) return HELD;
    const next = this.#clockPeriods.slice(this.#period + 1, endPeriod + 1);
    if (next.length === 0) return end;
    // It was still held when the clock was set back, and ended in one of the next periods.
    const hasOutlasted = next.some(({ from }) => end > from);
    return hasOutlasted || (start !== null && end < start) ? HELD : end;
  }

  /** The clock period in which a refusal was, which came after this line. */
  #periodAfter(seq: number): number {
    const index = this.#clockPeriods.findIndex(({ endSeq = Infinity }) => endSeq > seq);
    return index < 0 ? this.#clockPeriods.length - 1 : index;
  }

  #setClockBack(period: number, at: Instant): void {
    for (; this.#period < period; this.#period += 1) {
      const [before, after] = [this.#period, this.#period + 1].map((n) => this.#clockPeriods[n]);
      if (before !== undefined && after !== undefined)
        this.#site.setClockBack(before.to, after.from);
    }
    // A refusal may have a time of a later period.
    this.#lastAt = latest(at, this.#clockPeriods[period]?.from ?? at);
    for (const [key, session] of this.#active) {
      if (session.endPeriod >= period) {
        this.#site.setEnd(session, this.#endOf(session), at);
        continue;
      }
      this.#active.delete(key);
      this.#site.release(session, at);
    }
  }

  #addDifference(difference: ReplayDifference): void {
    if (this.#differences.length < MAX_DIFFERENCES) this.#differences.push(difference);
  }
}

const keyOf = ({ license, feature, user }: GrantedSlot): string =>
  JSON.stringify([license, feature, user]);
