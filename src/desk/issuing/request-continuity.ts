import { DAY, type Instant } from "../../domain/time.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { DeskFacts } from "../desk-records.ts";
import type { SeenEntry, ConsumptionTotal } from "../ledger/ledger-entries.ts";
import {
  findComparedEntries,
  findEarlierEntries,
  findHead,
  findNewHeads,
} from "./request-order.ts";
import { buildSeenPair } from "./seen-pair.ts";

/**
 * Checks whether a request fits the site's earlier requests. All of it is the site's own statement,
 * signed with a key that its administrator holds: a contradiction proves that something is wrong,
 * but a request without one proves nothing.
 */

/**
 * The part of a request that the ledger keeps, to compare the next request with. `seen`: what the
 * ledger has of the site already; nothing, if the request begins anew after an accepted fork.
 */
export function buildSeenEntry(
  desk: DeskFacts,
  request: LicenseRequest,
  at: string,
  seen: readonly SeenEntry[],
): SeenEntry {
  const { appliance, request_id, created_at, audit, restores = [], pair } = request;
  const heads = findNewHeads(request, seen);
  return {
    type: "seen",
    at,
    appliance,
    request_id,
    created_at,
    audit_seq: audit.seq,
    sum: audit.sum,
    ...(heads.length > 0 && { heads }),
    totals: totalsOf(desk, request),
    ...(restores.length > 0 && { restores: restores.map(({ lineage }) => lineage) }),
    ...(pair !== undefined && { pair: buildSeenPair(pair) }),
  };
}

const totalsOf = (desk: DeskFacts, { licenses }: LicenseRequest): ConsumptionTotal[] =>
  licenses
    .filter(({ vendor }) => vendor === desk.vendor.vendor)
    .map(({ license_id, total_consumptions }) => ({ license_id, total: total_consumptions }));

interface RequestWarnings {
  readonly contradictions: readonly string[];
  /** A site that is used less than before: no contradiction, but a copy may be in use as well. */
  readonly slowdowns: readonly string[];
}

/** Contradictions to earlier requests or to the desk's clock, for a person to judge. */
function compareWithEarlier(
  desk: DeskFacts,
  request: LicenseRequest,
  now: Instant,
): RequestWarnings {
  const [before, last] = [undefined, undefined, ...findEarlierEntries(desk, request)].slice(-2);
  const dateWarnings = findDateWarnings(request, last, now);
  if (last === undefined) return { contradictions: dateWarnings, slowdowns: [] };
  const changes = totalsOf(desk, request).flatMap(({ license_id, total }): Change[] => {
    const lastTotal = totalIn(last, license_id);
    if (lastTotal === null) return [];
    return [{ license_id, total, lastTotal, totalBefore: totalIn(before, license_id) }];
  });
  return {
    contradictions: [
      ...dateWarnings,
      ...findFallenTotals(desk, request, changes),
      ...findUnloggedConsumption(request, last, changes),
    ],
    slowdowns: findSlowdowns(desk, request, before, last, changes),
  };
}

/** What a person should judge, as text. */
export const findRequestWarnings = (
  desk: DeskFacts,
  request: LicenseRequest,
  now: Instant,
): string[] => Object.values(compareWithEarlier(desk, request, now)).flat();

/** The same without what may have an innocent cause. */
export const findRequestContradictions = (
  desk: DeskFacts,
  request: LicenseRequest,
  now: Instant,
): readonly string[] => compareWithEarlier(desk, request, now).contradictions;

interface Change {
  readonly license_id: number;
  readonly total: number;
  /** At the request before. */
  readonly lastTotal: number;
  /** At the request before that; null: unknown. */
  readonly totalBefore: number | null;
}

const totalIn = (seen: SeenEntry | undefined, license: number): number | null =>
  seen?.totals.find(({ license_id }) => license_id === license)?.total ?? null;

function findDateWarnings(
  { created_at }: LicenseRequest,
  last: SeenEntry | undefined,
  now: Instant,
): string[] {
  const createdAt = Date.parse(created_at);
  if (Number.isNaN(createdAt)) return ["the request has no creation time"];
  const dated = `the request is dated ${created_at}`;
  if (createdAt > now + DAY) return [`${dated}, more than a day ahead of this desk's clock`];
  const before = last?.created_at;
  const isEarlier = before !== undefined && createdAt < Date.parse(before);
  return isEarlier ? [`${dated}, before the last request seen (${before})`] : [];
}

const COPY = "an old copy may have been restored";

const findFallenTotals = (
  desk: DeskFacts,
  request: LicenseRequest,
  changes: readonly Change[],
): string[] =>
  changes
    .filter(({ total, lastTotal }) => total < lastTotal)
    .filter(({ license_id }) => !canTotalFall(desk, request, license_id))
    .map(
      ({ license_id, total, lastTotal }) =>
        `license ${license_id}: the consumption was ${lastTotal} at the last request seen and is only ${total} now; ${COPY}`,
    );

/** A total may fall if it resets, if it may be reduced, or after the license was returned. */
function canTotalFall(
  desk: DeskFacts,
  { appliance, licenses }: LicenseRequest,
  id: number,
): boolean {
  const license = { license_id: id, appliance };
  const serial = licenses.find(({ license_id }) => license_id === id)?.serial ?? 0;
  return (
    desk.ledger.receiptsFor(license).some((entry) => entry.serial < serial) ||
    desk.ledger
      .serialsOf(license)
      .some(({ terms: { consumption } }) => consumption?.negative || consumption?.period != null)
  );
}

/** Each consumption writes at least one line to the audit log, and so does each request. */
function findUnloggedConsumption(
  request: LicenseRequest,
  last: SeenEntry,
  changes: readonly Change[],
): string[] {
  const index = findHead(request, last);
  if (index < 0) return [];
  const requests = request.heads.length - 1 - index;
  const lines = request.audit.seq - last.audit_seq - requests;
  const grownTotals = changes.filter(({ total, lastTotal }) => total > lastTotal);
  return grownTotals.length > lines
    ? ["the consumption grew since the last request seen, but the audit log has no line for it"]
    : [];
}

/** A smaller growth says nothing about how a site is used. */
const MIN_GROWTH = 100;
const SLOWDOWN_FACTOR = 10;

/** A site that restores a copy again and again reports little of its real consumption. */
function findSlowdowns(
  desk: DeskFacts,
  request: LicenseRequest,
  before: SeenEntry | undefined,
  last: SeenEntry,
  changes: readonly Change[],
): string[] {
  const daysBefore = daysBetween(before?.created_at, last.created_at);
  const daysSince = daysBetween(last.created_at, request.created_at);
  // Also where a date is unknown: the number of days is then NaN.
  if (!(daysBefore >= 1 && daysSince >= 1)) return [];
  const isSlower = (growth: number, growthBefore: number): boolean =>
    growthBefore >= MIN_GROWTH &&
    growth >= 0 &&
    (growth / daysSince) * SLOWDOWN_FACTOR < growthBefore / daysBefore;
  const [since, beforeThat] = [Math.round(daysSince), Math.round(daysBefore)];
  const lines = request.audit.seq - last.audit_seq;
  const linesBefore = last.audit_seq - (before?.audit_seq ?? 0);
  const slowTotals = changes.flatMap(({ license_id, total, lastTotal, totalBefore }) => {
    if (totalBefore === null || canTotalFall(desk, request, license_id)) return [];
    const [growth, growthBefore] = [total - lastTotal, lastTotal - totalBefore];
    if (!isSlower(growth, growthBefore)) return [];
    return [
      `license ${license_id}: the consumption grew by ${growth} in ${since} days and by ${growthBefore} in the ${beforeThat} days before; ${COPY}`,
    ];
  });
  if (!isSlower(lines, linesBefore)) return slowTotals;
  return [
    `the audit log grew by ${lines} lines in ${since} days and by ${linesBefore} in the ${beforeThat} days before; ${COPY}`,
    ...slowTotals,
  ];
}

/** NaN if one of the dates is unknown. */
const daysBetween = (from: string | undefined, to: string | undefined): number =>
  (Date.parse(to ?? "") - Date.parse(from ?? "")) / DAY;

/** Describes licenses that the request lists as installed although the ledger has a receipt. */
export const findReturnedButInstalled = (desk: DeskFacts, request: LicenseRequest): string[] =>
  request.licenses.flatMap(({ license_id, serial, vendor }) => {
    const { appliance, created_at } = request;
    const issued = desk.ledger.serialsOf({ license_id, appliance });
    // A serial that is not on the ledger may answer a request that is not on it either.
    const isOnLedger = issued.some((entry) => entry.serial >= serial);
    if (vendor !== desk.vendor.vendor || !isOnLedger) return [];
    const receipt = desk.ledger.findReceipt({ license_id, appliance, serial });
    if (receipt === null) return [];
    // A request that the site created before it returned the license lists it correctly.
    if (Date.parse(created_at) < Date.parse(receipt.removed_at)) return [];
    return [
      `license ${license_id} was returned on ${receipt.at.slice(0, 10)}, but the request lists it ` +
        "as installed: the receipt was created on a copy, or a backup was restored; the site would " +
        "grant its slots and those of a new license",
    ];
  });

type Restore = NonNullable<LicenseRequest["restores"]>[number];

/** The restores and moves of the site since its requests before. */
export function findNewRestores(desk: DeskFacts, request: LicenseRequest): Restore[] {
  const seen = findComparedEntries(desk, request);
  const seenLineages = new Set(seen.flatMap(({ restores = [] }) => restores));
  return (request.restores ?? []).filter(({ lineage }) => !seenLineages.has(lineage));
}

export function describeRestore({ at, seq, replaced, moved, grace = [] }: Restore): string {
  if (moved === true) return `the site moved to another host on ${at}, at line ${seq}`;
  const earlier = replaced === null ? "" : `; before that it was at line ${replaced}`;
  const licenses = grace.map(({ license_id, serial }) => `${license_id}, serial ${serial}`);
  const elsewhere =
    licenses.length === 0
      ? ""
      : `, on other hardware: license ${licenses.join("; license ")}, serves there for its grace period`;
  return `the site restored a backup of line ${seq} on ${at}${earlier}${elsewhere}`;
}

export const describeNewRestores = (desk: DeskFacts, request: LicenseRequest): string[] =>
  findNewRestores(desk, request).map(describeRestore);
