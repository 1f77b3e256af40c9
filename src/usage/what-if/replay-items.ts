import type { Instant } from "../../domain/time.ts";
import type {
  EndedEpisode,
  Session,
  SharingEvent,
  SiteRecord,
  TermsPeriod,
} from "../site-record.ts";

/** One thing that happened on record, where the journal has it. */
export type ReplayItem = Position &
  (
    | { readonly kind: "terms"; readonly terms: TermsPeriod }
    | { readonly kind: "removal"; readonly terms: TermsPeriod }
    | { readonly kind: "end"; readonly session: Session }
    | { readonly kind: "start"; readonly session: Session }
    | { readonly kind: "sharing"; readonly event: SharingEvent }
    | { readonly kind: "refusal"; readonly episode: EndedEpisode; readonly isFirst: boolean }
  );

interface Position {
  /** The journal line; a refusal comes after the line with this number. */
  readonly seq: number;
  readonly at: Instant;
  /** The clock period; null: a refusal, whose record does not say. */
  readonly clockPeriod: number | null;
}

/** Within one line: what a line ends comes before what it begins, and refusals come after it. */
const ORDER = { terms: 0, removal: 1, end: 2, start: 3, sharing: 4, refusal: 5 };

/** Whether a line of its own ended the session: an expiry is decided by the time. */
const isEndedByLine = ({ endSeq, endedBy }: Session): boolean =>
  endSeq !== null && (endedBy === "user" || endedBy === "admin");

/** Everything of the record that the rules decide, in the order of the journal. */
export function listReplayItems({
  sessions,
  episodes,
  terms,
  sharing,
}: Pick<SiteRecord, "sessions" | "episodes" | "terms" | "sharing">): ReplayItem[] {
  const items: ReplayItem[] = [];
  const renewedAt = new Set(terms.map(({ license, startSeq }) => `${license} ${startSeq}`));
  for (const period of terms) {
    const { startSeq, endSeq, from, to, license } = period;
    if (startSeq !== null)
      items.push({
        kind: "terms",
        seq: startSeq,
        at: from,
        clockPeriod: period.startPeriod,
        terms: period,
      });
    if (endSeq !== null && to !== null && !renewedAt.has(`${license} ${endSeq}`))
      items.push({
        kind: "removal",
        seq: endSeq,
        at: to,
        clockPeriod: period.endPeriod,
        terms: period,
      });
  }
  for (const session of sessions) {
    const { start, startSeq, end, endSeq } = session;
    if (start !== null && startSeq !== null)
      items.push({
        kind: "start",
        seq: startSeq,
        at: start,
        clockPeriod: session.startPeriod,
        session,
      });
    if (end !== null && endSeq !== null && isEndedByLine(session))
      items.push({ kind: "end", seq: endSeq, at: end, clockPeriod: session.endPeriod, session });
  }
  for (const { event, clockPeriod, seq } of sharing)
    items.push({ kind: "sharing", seq, at: event.at, clockPeriod, event });
  for (const episode of episodes) {
    const { firstSeq, firstAt, lastSeq, lastAt } = episode;
    const refusal = { kind: "refusal", clockPeriod: null, episode } as const;
    items.push({ ...refusal, seq: firstSeq, at: firstAt, isFirst: true });
    if (episode.attempts > 1) items.push({ ...refusal, seq: lastSeq, at: lastAt, isFirst: false });
  }
  return items.toSorted(compareItems);
}

function compareItems(a: ReplayItem, b: ReplayItem): number {
  return a.seq - b.seq || ORDER[a.kind] - ORDER[b.kind] || a.at - b.at || featureOrder(a, b);
}

/** A slot of the license is taken before the slot of its feature. */
const featureOrder = (a: ReplayItem, b: ReplayItem): number =>
  a.kind === "start" && b.kind === "start"
    ? Number(a.session.feature !== null) - Number(b.session.feature !== null)
    : 0;
