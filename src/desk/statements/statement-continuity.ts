import { DAY, type Instant } from "../../domain/time.ts";
import { limits } from "../../domain/model/limits.ts";
import type { UsageStatement } from "../../license/documents/usage-statement.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { StatementEntry } from "../ledger/ledger-entries.ts";

/**
 * Checks whether a statement fits what the site sent before. It is the site's own statement: a
 * contradiction proves that something is wrong, but a statement without one proves nothing.
 */

/**
 * The statements of a site that count, oldest first. One that was accepted as a fork replaces those
 * with the same number or a higher one.
 */
export function findStatementChain(ledger: Ledger, appliance: string): StatementEntry[] {
  const chain: StatementEntry[] = [];
  for (const entry of ledger.statementsOf(appliance)) {
    const position = chain.findIndex(({ n }) => n >= entry.n);
    if (position >= 0) chain.splice(position);
    chain.push(entry);
  }
  return chain;
}

/** Why a statement does not continue what the ledger has; empty: it does. */
export function findContradictions(ledger: Ledger, statement: UsageStatement): string[] {
  const chain = findStatementChain(ledger, statement.iss);
  const last = chain.at(-1) ?? null;
  const { n } = statement;
  const expected = (last?.n ?? 0) + 1;
  const rollbacks = findRollbacks(ledger, statement);
  if (n > expected) {
    const missing =
      expected === n - 1 ? `statement ${expected} is` : `statements ${expected} to ${n - 1} are`;
    return [`${missing} missing: the statement is number ${n}`, ...rollbacks];
  }
  if (n < expected) {
    const recorded = chain.find((entry) => entry.n === n);
    const received = recorded === undefined ? "" : ` on ${recorded.at.slice(0, 10)}`;
    return [
      `another statement ${n} of this appliance was received${received}: ${explainFork(statement, last)}`,
      ...rollbacks,
    ];
  }
  if (last === null) return rollbacks;
  return [...findBreaks(statement, last), ...rollbacks];
}

/** How the next statement contradicts the one before. */
function findBreaks(statement: UsageStatement, last: StatementEntry): string[] {
  const { previous, from, audit } = statement;
  return [
    ...(previous === last.digest
      ? []
      : [`it continues another statement ${last.n}: ${explainFork(statement, last)}`]),
    ...(from < last.to
      ? [`it begins on ${from}, but statement ${last.n} covers the days before ${last.to}`]
      : []),
    ...(from > last.to ? [`the days from ${last.to} to before ${from} are missing`] : []),
    ...(audit.from === last.audit.to + 1
      ? []
      : [
          `it covers the audit log from line ${audit.from}, but statement ${last.n} ended at line ${last.audit.to}`,
        ]),
    ...findLostRestore(statement, last),
  ];
}

/** A restore that was listed once is listed until newer ones displace it. */
function findLostRestore({ restores = [] }: UsageStatement, last: StatementEntry): string[] {
  const newest = last.restores?.at(-1);
  if (newest === undefined || restores.length >= limits.restores) return [];
  return restores.some(({ lineage }) => lineage === newest)
    ? []
    : [`statement ${last.n} lists a restore that this one does not know: it is from another copy`];
}

/** A restored backup is listed in the statement; a copied machine lists nothing. */
function explainFork(statement: UsageStatement, last: StatementEntry | null): string {
  const restores = describeNewRestores(statement, last);
  return restores.length > 0
    ? restores.join("; ")
    : "no restore is listed, so two machines may use the same key";
}

/** Statements and requests must not say that the audit log became shorter. */
function findRollbacks(ledger: Ledger, { iss, iat, audit }: UsageStatement): string[] {
  const madeAt = iat * 1_000;
  const later = ledger
    .seenEntries(iss)
    .find(({ created_at, audit_seq }) => Date.parse(created_at) < madeAt && audit_seq > audit.to);
  const rollback =
    later === undefined
      ? []
      : [
          `the audit log had ${later.audit_seq} lines at the request of ${later.created_at.slice(0, 10)}, and only ${audit.to} at the statement`,
        ];
  const other = ledger
    .seenEntries(iss)
    .find(({ audit_seq, sum }) => audit_seq === audit.to && sum !== audit.sum);
  return other === undefined
    ? rollback
    : [...rollback, `line ${audit.to} of the audit log is not the one of an earlier request`];
}

/** The restores and moves since the last statement. */
export function describeNewRestores(
  { restores = [] }: UsageStatement,
  last: StatementEntry | null,
): string[] {
  const known = new Set(last?.restores);
  return restores
    .filter(({ lineage }) => !known.has(lineage))
    .map(({ at, moved }) =>
      moved === true
        ? `the site moved to another host on ${at}`
        : `the site restored a backup on ${at}`,
    );
}

/** Days that have not come yet: once counted, the site's statements of these days contradict it. */
export function findWrongDates({ iat, to }: UsageStatement, now: Instant): string[] {
  const isAhead = iat * 1_000 > now + DAY || Date.parse(to) > now + DAY;
  return isAhead
    ? [`the statement is dated up to ${to}, more than a day ahead of this desk's clock`]
    : [];
}
