import { DAY } from "../../domain/time.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { DeskFacts } from "../desk-records.ts";
import type { SeenEntry, SeenPair } from "../ledger/ledger-entries.ts";
import {
  findComparedEntries,
  findEarlierEntries,
  isContinuation,
  isListed,
} from "./request-order.ts";
import { buildSeenPair } from "./seen-pair.ts";

/**
 * Finds out from the requests of a pair whether it was split: each half then continues the same
 * epochs with lines of its own, and can grant all slots. Only a half that makes requests shows.
 */

interface SeenRequest extends SeenEntry {
  readonly pair: SeenPair;
}

/** What shows that the pair was split; empty: nothing does. */
export function findSplits(desk: Pick<DeskFacts, "ledger">, request: LicenseRequest): string[] {
  const { pair } = request;
  if (pair === undefined) return [];
  const compared = findComparedEntries(desk, request);
  const seen = compared.filter(hasPair);
  const isEarlier = isListed(compared, request);
  const here = describeRequest(request.request_id, buildSeenPair(pair));
  const contradictions = seen
    .filter((entry) => entry.pair.log === pair.log)
    .flatMap((entry) => {
      const there = describeRequest(entry.request_id, entry.pair);
      const isBefore = isEarlier && request.audit.seq < entry.audit_seq;
      const [earlier, later] = isBefore ? [pair, entry.pair] : [entry.pair, pair];
      return findContradictions(earlier, later).map(
        (what) => `the pair was split: ${what} (${there}; ${here})`,
      );
    });
  if (contradictions.length > 0) return contradictions;
  const last = seen.at(-1);
  if (last === undefined || isContinuation(desk, request)) return [];
  const there = describeRequest(last.request_id, last.pair);
  return [
    `the pair was split, or a copy of it was restored: neither of two requests continues the ` +
      `other (${there}; ${here})`,
  ];
}

const hasPair = (entry: SeenEntry): entry is SeenRequest => entry.pair !== undefined;

/** `request 1f0c…, epoch 5, led by alpha at line 812` */
function describeRequest(request: string, { epoch, leader, hosts }: SeenPair): string {
  const head = hosts.find(({ name }) => name === leader)?.head ?? null;
  const line = head === null ? "" : ` at line ${head.seq}`;
  return `request ${request.slice(0, 8)}, epoch ${epoch}, led by ${leader}${line}`;
}

/** What two requests of one log say that cannot both be true. */
function findContradictions(earlier: SeenPair, later: SeenPair): string[] {
  const lines = new Map(earlier.hosts.flatMap(({ head }) => (head ? [[head.seq, head.sum]] : [])));
  const differing = later.hosts.find(
    ({ head }) => head !== null && (lines.get(head.seq) ?? head.sum) !== head.sum,
  );
  return [
    ...(earlier.epoch === later.epoch && earlier.leader !== later.leader
      ? [`epoch ${later.epoch} has two leaders`]
      : []),
    ...(differing?.head ? [`line ${differing.head.seq} of its log has two contents`] : []),
    ...(later.epoch < earlier.epoch
      ? [`its epoch went back from ${earlier.epoch} to ${later.epoch}`]
      : []),
  ];
}

/** A request that the vendor answered although its pair was split. */
export interface AcceptedSplit {
  readonly appliance: string;
  readonly at: string;
  readonly request_id: string;
  readonly reason: string;
  readonly findings: readonly string[];
}

/** Oldest first. */
export const listAcceptedSplits = ({ ledger }: Pick<DeskFacts, "ledger">): AcceptedSplit[] =>
  ledger
    .forkEntries()
    .flatMap(({ appliance, at, request_id, reason, split }) =>
      split === undefined ? [] : [{ appliance, at, request_id, reason, findings: split }],
    );

/** As a warning beside the licenses of the appliance. */
export const describeAcceptedSplit = ({ appliance, at, reason, findings }: AcceptedSplit): string =>
  `appliance ${appliance}: ${findings.join("; ")}; accepted on ${at.slice(0, 10)}: ${reason}`;

/** A host that is silent for so long may serve elsewhere. */
const SILENT_DAYS = 7;

/** What the vendor should know of the pair of a request, besides that it was split. */
export function findPairWarnings(
  desk: Pick<DeskFacts, "ledger">,
  request: LicenseRequest,
): string[] {
  const { pair, created_at, appliance } = request;
  const last = findEarlierEntries(desk, request).at(-1);
  if (pair === undefined) {
    // The site made an earlier request perhaps before it had the pair.
    const isEarlier = isListed(findComparedEntries(desk, request), request);
    const issued = isEarlier ? undefined : desk.ledger.issuedTo(appliance).at(-1);
    return issued?.hosts === undefined && last?.pair === undefined
      ? []
      : ["the site had a pair, and this request does not describe it: a split would not show"];
  }
  return [
    ...(last?.pair !== undefined && last.pair.log !== pair.log
      ? ["the pair has another log than at the last request seen: it was formed anew, or split"]
      : []),
    ...pair.hosts.flatMap(({ name, head }) => {
      if (head === null) return [`host ${name} has not reported its state yet`];
      const days = Math.floor((Date.parse(created_at) - Date.parse(head.at)) / DAY);
      return days >= SILENT_DAYS
        ? [`host ${name} was silent for ${days} days before the request: it may serve elsewhere`]
        : [];
    }),
  ];
}
