import type { LicenseRequest } from "../../license/requests/request.ts";
import type { DeskFacts } from "../desk-records.ts";
import type { ForkEntry, SeenEntry, SeenHead } from "../ledger/ledger-entries.ts";

/**
 * The order in which a site made its requests, whatever the order in which they arrive. A request
 * lists the site's last 64 requests in `heads`. So two requests of one audit log are in order if the
 * newer one lists the older one; if neither lists the other, they are from two copies of the site.
 */

/**
 * Whether the request and the requests that the desk saw are from one audit log. It then continues
 * the newest of them, or one of them lists it.
 */
export function isContinuation(desk: Pick<DeskFacts, "ledger">, request: LicenseRequest): boolean {
  const seen = findComparedEntries(desk, request);
  const newest = seen.at(-1);
  if (newest === undefined) return true;
  const isRelated = findHead(request, newest) >= 0 || isListed(seen, request);
  return isRelated && isInOrder(request) && listsAllKnown(request, seen);
}

/**
 * The requests that the ledger has of this site since the last accepted fork, by the site's order.
 * An answered request is compared with those that were there before it.
 */
export function findComparedEntries(
  desk: Pick<DeskFacts, "ledger">,
  request: LicenseRequest,
): SeenEntry[] {
  const entries = findEntriesBefore(desk, request);
  const start = entries.findLastIndex(({ type, request_id }, index) => {
    const before = entries[index - 1];
    // A `forked` line alone was left by an interrupted command: nothing continues it.
    return type === "seen" && before?.type === "forked" && before.request_id === request_id;
  });
  return entries
    .slice(Math.max(0, start))
    .filter((entry) => entry.type === "seen")
    .toSorted((a, b) => a.audit_seq - b.audit_seq);
}

/** All requests that the ledger has of this site, also of copies, by the order of arrival. */
export const findSeenEntries = (
  desk: Pick<DeskFacts, "ledger">,
  request: LicenseRequest,
): SeenEntry[] => findEntriesBefore(desk, request).filter((entry) => entry.type === "seen");

/**
 * The requests that the site made before this one. A request that none of them lists counts as the
 * newest: it is, or it is from a copy.
 */
export function findEarlierEntries(
  desk: Pick<DeskFacts, "ledger">,
  request: LicenseRequest,
): SeenEntry[] {
  const seen = findComparedEntries(desk, request);
  return isListed(seen, request)
    ? seen.filter(({ audit_seq }) => audit_seq < request.audit.seq)
    : seen;
}

function findEntriesBefore(
  { ledger }: Pick<DeskFacts, "ledger">,
  { appliance, request_id }: LicenseRequest,
): readonly (SeenEntry | ForkEntry)[] {
  const entries = ledger.requestEntries(appliance);
  const isAnswered = ledger.issuedTo(appliance).some((entry) => entry.request_id === request_id);
  const position = entries.findIndex((entry) => entry.request_id === request_id);
  return isAnswered && position >= 0 ? entries.slice(0, position) : entries;
}

/**
 * Whether a request that the desk saw lists this one, so that the site made this one before. Or the
 * desk saw this one itself, and the command was interrupted before it answered.
 */
export const isListed = (seen: readonly SeenEntry[], request: LicenseRequest): boolean =>
  findKnownHeads(seen).some((head) => isSame(head, headOf(request)));

/** Index of a seen request in this request's list of heads; -1: it is not listed. */
export const findHead = ({ heads }: LicenseRequest, seen: SeenEntry): number =>
  heads.findIndex((head) => isSame(head, seen));

const isSame = (a: SeenHead, b: SeenHead): boolean =>
  a.request_id === b.request_id && a.audit_seq === b.audit_seq && a.sum === b.sum;

const headOf = ({ request_id, audit }: LicenseRequest): SeenHead => ({
  request_id,
  audit_seq: audit.seq,
  sum: audit.sum,
});

/**
 * Whether the list of heads ends with the request itself, and grows from head to head: each request
 * is itself a line of the audit log, so the next one has a higher number.
 */
function isInOrder(request: LicenseRequest): boolean {
  const { heads } = request;
  const newest = heads.at(-1);
  return (
    newest !== undefined &&
    isSame(newest, headOf(request)) &&
    heads.every((head, index) => index === 0 || head.audit_seq > (heads[index - 1]?.audit_seq ?? 0))
  );
}

/** A site leaves out no request between two that it lists. */
function listsAllKnown({ heads }: LicenseRequest, seen: readonly SeenEntry[]): boolean {
  const [oldest, newest] = [heads.at(0)?.audit_seq ?? 0, heads.at(-1)?.audit_seq ?? 0];
  return findKnownHeads(seen)
    .filter(({ audit_seq }) => audit_seq >= oldest && audit_seq <= newest)
    .every((known) => heads.some((head) => isSame(head, known)));
}

const findKnownHeads = (seen: readonly SeenEntry[]): SeenHead[] =>
  seen.flatMap((entry) => [entry, ...(entry.heads ?? [])]);

/**
 * The requests before this one that the ledger does not know yet. A list that is not in order, as
 * no site makes it, says nothing.
 */
export function findNewHeads(request: LicenseRequest, seen: readonly SeenEntry[]): SeenHead[] {
  if (!isInOrder(request)) return [];
  const known = findKnownHeads(seen);
  return request.heads
    .slice(0, -1)
    .filter((head) => !known.some((other) => isSame(head, other)))
    .map(({ request_id, audit_seq, sum }) => ({ request_id, audit_seq, sum }));
}

/**
 * Sorts requests by appliance, and those of an appliance as it made them. Answered in this order,
 * each one lists the one before, also where there are more than a request can list.
 */
export const sortRequests = <
  Request extends Pick<LicenseRequest, "appliance" | "request_id" | "audit">,
>(
  requests: readonly Request[],
): Request[] =>
  requests.toSorted(
    (a, b) =>
      compare(a.appliance, b.appliance) ||
      a.audit.seq - b.audit.seq ||
      compare(a.request_id, b.request_id),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
