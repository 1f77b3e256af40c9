import type { Instant } from "../../domain/time.ts";
import type { InSteps } from "../report/report.ts";
import type { ClockPeriod, EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { isEndedByLine, listReplayItems, type ReplayItem } from "./replay-items.ts";
import { HELD, readCaps, ReplayedSite, type GrantedSlot } from "./replayed-site.ts";
import type { ReplayCheck, ReplayDifference } from "./what-if.ts";

const MAX_DIFFERENCES = 20;
const PIECE = 500;

/**
 * Decides the whole record again with the limits that were in force, in the order of the journal.
 * The record of a complete audit log is reproduced without a difference.
 */
export function* replayRecorded(
  record: Pick<SiteRecord, "clockPeriods" | "sessions" | "episodes" | "terms">,
): InSteps<ReplayCheck> {
  const replay = new RecordedReplay(record.clockPeriods);
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

  /** The session was held when the record began. */
  continue(session: Session): void {
    this.#site.force(session, session.end ?? HELD);
    this.#hold(session, session.end ?? HELD);
  }

  apply(item: ReplayItem): void {
    if (item.clockPeriod !== null && item.clockPeriod > this.#period)
      this.#setClockBack(item.clockPeriod, item.at);
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
      case "refusal":
        return this.#refuse(item.episode, item.at, item.isLast);
    }
  }

  #grant(session: Session, at: Instant): void {
    if (!this.#site.hasLicense(session.license)) return;
    this.#counts.grants += 1;
    const decision = this.#site.request(session, at);
    if (typeof decision === "string") {
      this.#addDifference("grant", session.user, at, "granted", decision);
      this.#site.force(session, at);
    } else this.#counts.grantsReproduced += 1;
    this.#hold(session, at);
  }

  #refuse(episode: EndedEpisode, at: Instant, isLast: boolean): void {
    const { product, feature, user, peer, code, rule } = episode;
    const wish = { product, feature, user, peer, host: "", license: null };
    this.#counts.refusals += 1;
    const decision = this.#site.request(wish, at, readCaps(rule));
    // The code on record is that of the last refusal.
    const isReproduced = isLast ? decision === code : typeof decision === "string";
    if (isReproduced) this.#counts.refusalsReproduced += 1;
    else
      this.#addDifference(
        "refusal",
        user,
        at,
        code,
        typeof decision === "string" ? decision : "granted",
      );
    if (typeof decision !== "string") this.#site.release(decision, at);
  }

  #hold(session: Session, at: Instant): void {
    this.#active.set(keyOf(session), session);
    this.#site.setEnd(session, this.#endOf(session), at);
  }

  /** When the session ends on the clock of the current period. */
  #endOf(session: Session): Instant {
    const { start, end, endPeriod } = session;
    if (end === null || isEndedByLine(session)) return HELD;
    const next = this.#clockPeriods[this.#period + 1];
    if (this.#period >= endPeriod || next === undefined) return end;
    // It was still held when the clock was set back.
    return end > next.from || (start !== null && end < start) ? HELD : end;
  }

  #setClockBack(period: number, at: Instant): void {
    this.#period = period;
    for (const [key, session] of this.#active) {
      if (session.endPeriod >= period) {
        this.#site.setEnd(session, this.#endOf(session), at);
        continue;
      }
      this.#active.delete(key);
      this.#site.release(session, at);
    }
  }

  #addDifference(
    what: ReplayDifference["what"],
    user: string,
    at: Instant,
    expected: string,
    decided: string,
  ): void {
    if (this.#differences.length < MAX_DIFFERENCES)
      this.#differences.push({ what, user, at, expected, decided });
  }
}

const keyOf = ({ license, feature, user }: GrantedSlot): string =>
  JSON.stringify([license, feature, user]);
