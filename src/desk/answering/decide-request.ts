import type { Instant } from "../../domain/time.ts";
import { isMistypedOrderKey } from "../../license/codes/order-key.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskFacts } from "../desk-records.ts";
import { DecisionNeeded, toObstacle, type Obstacle } from "../desk-refused.ts";
import { findAnswer, prepareLicense, type PreparedLicense } from "../issuing/issue.ts";
import { USUAL_OPTIONS } from "../issuing/issue-options.ts";
import { findPairWarnings } from "../issuing/pair-continuity.ts";
import {
  describeRestore,
  findNewRestores,
  findRequestContradictions,
} from "../issuing/request-continuity.ts";
import { compareSiteTrust } from "../issuing/site-trust.ts";
import type { IssuedEntry, LedgerEntry } from "../ledger/ledger-entries.ts";
import { findWriteOffs } from "../orders/judge-use.ts";
import { describeChangesSince, findOrderFor } from "../orders/order-placement.ts";
import { buildRestoredEntries, findUnknownLicenses } from "../orders/unknown-licenses.ts";

/** What the desk does with a request of its own accord. */
export type RequestDecision =
  /** It was answered before. `changes`: what the order sells otherwise since. */
  | { readonly kind: "repeat"; readonly issued: IssuedEntry; readonly changes: readonly string[] }
  /** The order covers it. */
  | { readonly kind: "answer"; readonly prepared: PreparedLicense }
  | {
      readonly kind: "decide";
      readonly obstacles: readonly Obstacle[];
      /** What the request shows of the desk itself; recorded although nothing is answered. */
      readonly entries: readonly LedgerEntry[];
    }
  | { readonly kind: "refuse"; readonly obstacles: readonly Obstacle[] };

/**
 * Decides by ledger, request and time alone whether a request is answered automatically: only what
 * an order covers, and only if the request shows nothing that a person should see.
 */
export function decideRequest(
  desk: DeskFacts,
  request: LicenseRequest,
  now: Instant,
): RequestDecision {
  const unknown = findUnknownLicenses(desk, request);
  let hasOrder = false;
  const findings = unknown.map(({ text }) => buildWarning(text));
  const decide = (obstacles: readonly Obstacle[]): RequestDecision => ({
    kind: "decide",
    obstacles: withWriteOffs(desk, request, obstacles),
    entries: buildRestoredEntries(desk, unknown, hasOrder, rfc3339(now)),
  });
  try {
    const options = { ...USUAL_OPTIONS, request, now };
    const isAnswered = findAnswer(desk, request) !== null;
    hasOrder = !isAnswered && findOrderFor(desk.ledger, options) !== null;
    if (!isAnswered && !hasOrder) return decide([describeNoOrder(request), ...findings]);
    const prepared = prepareLicense(desk, options);
    const { answered, reasons } = prepared;
    if (answered !== null)
      return { kind: "repeat", issued: answered, changes: describeChangesSince(desk, answered) };
    const obstacles = [
      ...reasons.map((reason): Obstacle => ({ ...reason, hint: DECIDE_HINT })),
      ...findWarnings(desk, request, now).map(buildWarning),
      ...findings,
    ];
    return obstacles.length === 0 ? { kind: "answer", prepared } : decide(obstacles);
  } catch (error) {
    const { hint, ...problem } = toObstacle(error);
    const obstacle = { ...problem, hint: hint.startsWith("--") ? `${ISSUE} ${hint}` : hint };
    return error instanceof DecisionNeeded
      ? decide([obstacle, ...findings])
      : { kind: "refuse", obstacles: [obstacle] };
  }
}

const ISSUE = "berth vendor issue --request FILE";
const DECIDE_HINT = `${ISSUE} decides it`;

const buildWarning = (text: string): Obstacle => ({ code: "warning", text, hint: DECIDE_HINT });

/** Whatever else a person must decide: a machine that was lost is alive. */
const withWriteOffs = (
  { ledger }: DeskFacts,
  { appliance }: LicenseRequest,
  obstacles: readonly Obstacle[],
): readonly Obstacle[] =>
  obstacles.some(({ code }) => code === "written_off")
    ? obstacles
    : [
        ...findWriteOffs(ledger, appliance).map((reason) => ({ ...reason, hint: DECIDE_HINT })),
        ...obstacles,
      ];

function describeNoOrder({ license_key: key }: LicenseRequest): Obstacle {
  if (key !== null && isMistypedOrderKey(key)) {
    return {
      code: "no_order",
      text: `the license key ${key} has a wrong symbol`,
      hint: "compare it with the customer's, and ask the site for a request with the right one",
    };
  }
  return {
    code: "no_order",
    text: key === null ? "no order covers this request" : `no order has the license key ${key}`,
    hint: "berth vendor order add sells it; berth vendor order adopt takes licenses without an order",
  };
}

/**
 * What a person should see before an answer. That a site is used less is no reason to wait, nor
 * that it moved: the order says how often it may.
 */
const findWarnings = (desk: DeskFacts, request: LicenseRequest, now: Instant): string[] => [
  ...findRequestContradictions(desk, request, now),
  ...findPairWarnings(desk, request),
  ...compareSiteTrust(desk, request).warnings,
  ...findNewRestores(desk, request)
    .filter(({ moved }) => moved !== true)
    .map(describeRestore),
];
