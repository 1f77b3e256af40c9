import { DAY, type Instant } from "../domain/time.ts";
import type { LicenseRequest } from "../license/request.ts";
import type { Desk } from "./desk.ts";
import type { SeenEntry, ConsumptionTotal } from "./ledger.ts";

/**
 * Whether a request fits what the desk saw of the site before. All of it is the site's own word,
 * signed with a key that its administrator holds: a contradiction proves that something is wrong,
 * and a request without one proves nothing.
 */

/** Whether the site's record goes on from where it stood at the request seen last. */
export function isContinuation(desk: Desk, request: LicenseRequest): boolean {
  const last = seenBefore(desk, request).at(-1);
  if (last === undefined) return true;
  // A request is itself a line of the record: the next one stands further on.
  return isInOrder(request) && request.audit.seq > last.audit_seq && headOf(request, last) >= 0;
}

/** Where the request seen last is among those that this one names; -1: it is not. */
const headOf = ({ heads }: LicenseRequest, last: SeenEntry): number =>
  heads.findIndex(
    ({ request_id, audit_seq, sum }) =>
      request_id === last.request_id && audit_seq === last.audit_seq && sum === last.sum,
  );

function isInOrder({ request_id, audit, heads }: LicenseRequest): boolean {
  const own = heads.at(-1);
  return (
    own?.request_id === request_id &&
    own.audit_seq === audit.seq &&
    own.sum === audit.sum &&
    heads.every((head, place) => place === 0 || head.audit_seq > (heads[place - 1]?.audit_seq ?? 0))
  );
}

/** What the ledger keeps of a request, to compare the next one with. */
export function buildSeenEntry(desk: Desk, request: LicenseRequest, at: string): SeenEntry {
  const { appliance, request_id, created_at, audit, restores = [] } = request;
  return {
    type: "seen",
    at,
    appliance,
    request_id,
    created_at,
    audit_seq: audit.seq,
    sum: audit.sum,
    totals: totalsOf(desk, request),
    ...(restores.length > 0 && { restores: restores.map(({ lineage }) => lineage) }),
  };
}

const totalsOf = (desk: Desk, { licenses }: LicenseRequest): ConsumptionTotal[] =>
  licenses
    .filter(({ vendor }) => vendor === desk.vendor.vendor)
    .map(({ license_id, total_consumptions }) => ({ license_id, total: total_consumptions }));

/** What contradicts the requests before, or the desk's own clock, for a person to judge. */
export function findRequestWarnings(desk: Desk, request: LicenseRequest, now: Instant): string[] {
  const [before, last] = [undefined, undefined, ...seenBefore(desk, request)].slice(-2);
  const dated = datedWrong(request, last, now);
  if (last === undefined) return dated;
  const changes = totalsOf(desk, request).flatMap(({ license_id, total }): Change[] => {
    const lastTotal = totalIn(last, license_id);
    if (lastTotal === null) return [];
    return [{ license_id, total, lastTotal, totalBefore: totalIn(before, license_id) }];
  });
  return [
    ...dated,
    ...fallen(desk, request, changes),
    ...unrecorded(request, last, changes),
    ...slower(desk, request, before, last, changes),
  ];
}

interface Change {
  readonly license_id: number;
  readonly total: number;
  /** At the request seen last. */
  readonly lastTotal: number;
  /** At the one before that; null: it is not known. */
  readonly totalBefore: number | null;
}

/** The requests of this site that came before, oldest first. */
function seenBefore(desk: Desk, { appliance, request_id }: LicenseRequest): SeenEntry[] {
  const seen = desk.ledger.seenEntries(appliance);
  const own = seen.findIndex((one) => one.request_id === request_id);
  const isAnswered = desk.ledger
    .issuedEntries()
    .some((one) => one.appliance === appliance && one.request_id === request_id);
  return isAnswered ? seen.slice(0, own) : seen.filter((one) => one.request_id !== request_id);
}

const totalIn = (seen: SeenEntry | undefined, license: number): number | null =>
  seen?.totals?.find(({ license_id }) => license_id === license)?.total ?? null;

function datedWrong(
  { created_at }: LicenseRequest,
  last: SeenEntry | undefined,
  now: Instant,
): string[] {
  const made = Date.parse(created_at);
  if (Number.isNaN(made)) return ["the request has no creation time"];
  const dated = `the request is dated ${created_at}`;
  if (made > now + DAY) return [`${dated}, more than a day ahead of this desk's clock`];
  const before = last?.created_at;
  const isEarlier = before !== undefined && made < Date.parse(before);
  return isEarlier ? [`${dated}, before the last request seen (${before})`] : [];
}

const COPY = "an old copy may have been restored";

const fallen = (desk: Desk, request: LicenseRequest, changes: readonly Change[]): string[] =>
  changes
    .filter(({ total, lastTotal }) => total < lastTotal)
    .filter(({ license_id }) => !mayFall(desk, request, license_id))
    .map(
      ({ license_id, total, lastTotal }) =>
        `license ${license_id}: the consumption was ${lastTotal} at the last request seen and is only ${total} now; ${COPY}`,
    );

/** It resets, it may be counted down, or it began anew after it was given back. */
function mayFall(desk: Desk, { appliance, licenses }: LicenseRequest, id: number): boolean {
  const same = (one: { readonly license_id: number; readonly appliance: string }): boolean =>
    one.license_id === id && one.appliance === appliance;
  const serial = licenses.find(({ license_id }) => license_id === id)?.serial ?? 0;
  return (
    desk.ledger.receiptEntries().some((one) => same(one) && one.serial < serial) ||
    desk.ledger
      .issuedEntries()
      .filter(same)
      .some(({ terms: { consumption } }) => consumption?.negative || consumption?.period != null)
  );
}

/** Whatever is counted is a line of the record, and so is every request. */
function unrecorded(
  request: LicenseRequest,
  last: SeenEntry,
  changes: readonly Change[],
): string[] {
  const place = headOf(request, last);
  if (place < 0) return [];
  const requests = request.heads.length - 1 - place;
  const lines = request.audit.seq - last.audit_seq - requests;
  const risen = changes.filter(({ total, lastTotal }) => total > lastTotal);
  return risen.length > lines
    ? ["the consumption grew since the last request seen, but the audit log has no line for it"]
    : [];
}

/** Fewer than these tell nothing about how a site is used. */
const ENOUGH = 100;
const SLOWER = 10;

/** A site that goes back to a copy again and again shows little of what it did. */
function slower(
  desk: Desk,
  request: LicenseRequest,
  before: SeenEntry | undefined,
  last: SeenEntry,
  changes: readonly Change[],
): string[] {
  const earlier = daysBetween(before?.created_at, last.created_at);
  const later = daysBetween(last.created_at, request.created_at);
  if (!(earlier >= 1 && later >= 1)) return [];
  const isSlower = (grew: number, grewBefore: number): boolean =>
    grewBefore >= ENOUGH && grew >= 0 && (grew / later) * SLOWER < grewBefore / earlier;
  const [since, beforeThat] = [Math.round(later), Math.round(earlier)];
  const lines = request.audit.seq - last.audit_seq;
  const linesBefore = last.audit_seq - (before?.audit_seq ?? 0);
  const counted = changes.flatMap(({ license_id, total, lastTotal, totalBefore }) => {
    if (totalBefore === null || mayFall(desk, request, license_id)) return [];
    const [grew, grewBefore] = [total - lastTotal, lastTotal - totalBefore];
    if (!isSlower(grew, grewBefore)) return [];
    return [
      `license ${license_id}: the consumption grew by ${grew} in ${since} days and by ${grewBefore} in the ${beforeThat} days before; ${COPY}`,
    ];
  });
  if (!isSlower(lines, linesBefore)) return counted;
  return [
    `the audit log grew by ${lines} lines in ${since} days and by ${linesBefore} in the ${beforeThat} days before; ${COPY}`,
    ...counted,
  ];
}

/** Not a number where one of them is not known. */
const daysBetween = (from: string | undefined, to: string | undefined): number =>
  (Date.parse(to ?? "") - Date.parse(from ?? "")) / DAY;

/** What the request says is installed although the ledger has its receipt, in words. */
export const findReturnedButInstalled = (desk: Desk, request: LicenseRequest): string[] =>
  request.licenses.flatMap(({ license_id, serial, vendor }) => {
    const { appliance, created_at } = request;
    const issued = desk.ledger
      .issuedEntries()
      .filter((one) => one.license_id === license_id && one.appliance === appliance);
    // A serial that the ledger does not know may answer a request that it does not know either.
    const isKnown = issued.some((one) => one.serial >= serial);
    if (vendor !== desk.vendor.vendor || !isKnown) return [];
    const receipt = desk.ledger.findReceipt({ license_id, appliance, serial });
    if (receipt === null) return [];
    // A request that the site made before it gave the license back lists it rightly.
    if (Date.parse(created_at) < Date.parse(receipt.removed_at ?? receipt.at)) return [];
    return [
      `license ${license_id} was returned on ${receipt.at.slice(0, 10)}, but the request lists it ` +
        "as installed: the receipt was created on a copy, or a backup was restored; the site would " +
        "grant its slots and those of a new license",
    ];
  });

/** Backups the site brought back since its last request, in words. */
export function describeNewRestores(desk: Desk, request: LicenseRequest): string[] {
  const known = new Set(desk.ledger.lastSeenEntry(request.appliance)?.restores);
  return (request.restores ?? [])
    .filter(({ lineage }) => !known.has(lineage))
    .map(({ at, seq, replaced, moved }) => {
      if (moved === true) return `the site moved to another host on ${at}, at line ${seq}`;
      const given = replaced === null ? "" : `; before that it was at line ${replaced}`;
      return `the site restored a backup of line ${seq} on ${at}${given}`;
    });
}
