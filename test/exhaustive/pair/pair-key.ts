// A key that is equal for pairs in which the same happens from here on.
//
// - Times are relative to now, and older ones than two terms are alike: nothing lasts longer.
// - Epochs and lines of the log count from its end, and sums of lines in the order in which they
//   appear.
// - What a leadership remembers and does not show is followed by its process: the term that it saw
//   last, a failed attempt to lead, and the replies of the step that is under way.
import type { SimulatedLog } from "../../support/simulated-log.ts";
import type { Statement } from "./held-log.ts";
import { TERM, type PairProcess } from "./pair-process.ts";

interface KnownPair {
  readonly log: SimulatedLog;
  readonly now: number;
  readonly processes: readonly PairProcess[];
  readonly late: readonly { readonly host: string; readonly statement: Statement }[];
  /** Whether a line has a change that was acknowledged. */
  readonly isAcknowledged: (text: string) => boolean;
}

export function makePairKey({ log, now, processes, late, isAcknowledged }: KnownPair): string {
  const { leader, lines, terms, until, instance } = log;
  const describeAge = (time: number): number => Math.min(now - time, 2 * TERM);
  const sums = new Map<string, number>();
  const describeStatement = (host: string, statement: Statement): string => {
    const { name, facts, isPerformed, result, sentAt } = statement;
    const text = `${host} ${name} ${facts} ${isPerformed ? JSON.stringify(result) : "sent"}`;
    const numbered = text.replaceAll(/[0-9a-f]{64}/g, (sum) => {
      if (!sums.has(sum)) sums.set(sum, sums.size);
      return `#${sums.get(sum)}`;
    });
    return `${numbered} ${describeAge(sentAt)}`;
  };
  const describeProcess = (process: PairProcess): string => {
    const { host, leadership, store, seenTerm, failedAt, stepReplies, statements } = process;
    const { role, epoch } = leadership.status();
    const { head, seq, fault } = store.status();
    const isCurrentTerm = seenTerm?.term === `term ${terms}`;
    return [
      host,
      role === "leader" ? `leads ${leader.epoch - (epoch ?? 0)}` : "follows",
      process.answersFor,
      isCurrentTerm ? describeAge(seenTerm.since) : "other term",
      describeAge(failedAt),
      stepReplies?.map((reply) => `${reply.name} ${reply.text} ${describeAge(reply.sentAt)}`) ?? "",
      process.isWriting,
      process.readShowsAll,
      leader.seq - head.seq,
      seq - head.seq,
      fault?.code,
      instance === process.instance,
      ...statements.pending.map((statement) => describeStatement(host, statement)),
    ].join();
  };
  const copied = Math.min(...processes.map(({ store }) => store.status().head.seq));
  const newLines = lines.filter(({ seq }) => seq > copied);
  return [
    leader.holder,
    Math.max(0, until - now),
    ...newLines.map(({ epoch, text }) => `${leader.epoch - epoch} ${isAcknowledged(text)}`),
    ...processes.map(describeProcess),
    ...late.map(({ host, statement }) => describeStatement(host, statement)),
  ].join("|");
}
