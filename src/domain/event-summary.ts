import type { AccessChange, Event, ReleasedBy } from "./event.ts";
import type { JumpReason } from "./clock/clock-jump-types.ts";
import type { AuditGap } from "./state.ts";
import type { Instant } from "./time.ts";

/** The text shown for an event. User and peer are shown beside it. */
export interface EventSummary {
  readonly summary: string;
}

/** Describes an event in words, for every view of the audit log. */
export function summarize(event: Event): EventSummary {
  if (!isKnownEvent(event)) {
    return { summary: `unknown event from a newer version of berth: ${event.type}` };
  }
  const summarizeEvent = SUMMARIES[event.type] as (event: Event) => string;
  return { summary: summarizeEvent(event) };
}

type Summarizer<T extends Event["type"]> = (event: Extract<Event, { readonly type: T }>) => string;

/** An event without a row here does not compile. */
const SUMMARIES: { readonly [T in Event["type"]]: Summarizer<T> } = {
  Created: ({ kind }) => `data folder created (${kind})`,
  VendorTrusted: ({ vendor: { name, products, retired = [] } }) =>
    `vendor ${name} trusted for ${formatList(products)}` +
    (retired.length === 0 ? "" : `; ${pluralize(retired.length, "retired key")}`),
  VendorDistrusted: ({ vendor }) => `vendor ${vendor} no longer trusted`,
  RequestMade: ({ request }) => `license request ${request.request} created`,
  ActivationMade: ({ activation }) =>
    `activation code created for license key ${activation.licenseKey}`,
  LicenseInstalled: ({ license, terms, grant }) =>
    `license ${license} installed: ${terms.product}, ${pluralize(terms.slots, "slot")}, ` +
    `${terms.validUntil === null ? "no expiry" : `until ${formatTime(terms.validUntil)}`}, ` +
    `serial ${grant.serial}`,
  LicenseRemoved: ({ license, tombstone: { borrows } }) =>
    `license ${license} returned to the vendor${
      borrows.length === 0 ? "" : `, with ${pluralize(borrows.length, "borrowed slot")}`
    }`,
  SlotTaken: ({ end }) => `slot taken until ${formatTime(end)}`,
  SlotRenewed: ({ contact, leasedTo }) =>
    (contact === undefined ? "slot renewed" : "slot renewed from another machine") +
    (leasedTo === undefined ? "" : ", borrow leased to a device"),
  ContactChanged: ({ hostname }) =>
    hostname === "" ? "slot used from another machine" : `slot used from ${hostname}`,
  SlotBorrowed: ({ until, early }) =>
    early ? `borrow shortened to ${formatTime(until)}` : `slot borrowed until ${formatTime(until)}`,
  SlotReleased: ({ by, early }) =>
    `slot ${RELEASE_TEXTS[by]}${early ? " before its borrow ended" : ""}`,
  SlotExpired: () => "slot expired",
  SlotRestored: ({ until }) =>
    `borrow restored until ${formatTime(until)}: the clock had been ahead`,
  FeatureTaken: ({ feature, end }) => `feature ${feature} taken until ${formatTime(end)}`,
  FeatureRenewed: ({ feature }) => `feature ${feature} renewed`,
  FeatureReleased: ({ feature, by }) => `feature ${feature} ${RELEASE_TEXTS[by]}`,
  FeatureExpired: ({ feature }) => `feature ${feature} expired`,
  ConsumptionAdded: ({ count: added, total }) => formatConsumption(added, total, ""),
  FeatureConsumptionAdded: ({ count: added, total, feature }) =>
    formatConsumption(added, total, ` of feature ${feature}`),
  KeyRemembered: () => "outcome recorded for an idempotency key",
  KeysSet: ({ changed }) => `cloud credentials replaced: ${formatList(changed)}`,
  AccessChanged: ({ change, name }) => ACCESS_CHANGE_TEXTS[change](name),
  Restored: ({ restore: { seq } }) => `backup restored; its last change was ${seq}`,
  MovedAway: () => "moved to another host",
  MovedIn: () => "moved here from another host",
  AuditGapDeclared: ({ gap, note }) =>
    `audit log ${formatGap(gap)}${note === "" ? "" : `: ${note}`}`,
  ClockMarked: () => "time marked",
  ClockJumped: ({ from, to, reason }) =>
    `clock jumped from ${formatTime(from)} to ${formatTime(to)}${JUMP_REASON_TEXTS[reason]}`,
  ClockAsked: () => "time requested from a vendor",
  ClockSetBack: ({ from, to }) => `time set back from ${formatTime(from)} to ${formatTime(to)}`,
  RefusalsCounted: ({ count: times, code }) => `${pluralize(times, "request")} refused: ${code}`,
};

/** The names of all event types. */
export const eventTypes: ReadonlySet<string> = new Set(Object.keys(SUMMARIES));

/** False for an event that a newer version wrote: its fields can mean anything. */
export const isKnownEvent = ({ type }: Event): boolean => eventTypes.has(type);

/**
 * The address of a caller, for people. A call through the unix socket certainly came from this
 * machine, and nothing more is known: only root and the owner of the data folder can open the
 * socket, and commands of root switch to the owner first.
 */
export const formatPeer = (peer: string): string => (peer === "socket" ? "this machine" : peer);

type GapRange = Pick<AuditGap, "from" | "to"> & { readonly reason: string };

/** The range and the reason, worded the same everywhere. */
export const formatGap = ({ reason, from, to }: GapRange): string =>
  `${from === to ? `line ${from}` : `lines ${from} to ${to}`} declared missing (${reason})`;

const RELEASE_TEXTS: { readonly [B in ReleasedBy]: string } = {
  user: "released",
  admin: "released by an administrator",
};

const JUMP_REASON_TEXTS: { readonly [R in JumpReason]: string } = {
  start: " while the server was off",
  step: "",
  held: ", accepted after a waiting time",
  accepted: ", accepted by an operator",
};

const ACCESS_CHANGE_TEXTS: { readonly [C in AccessChange]: (name: string) => string } = {
  token_made: (name) => `token ${name} created`,
  token_revoked: (name) => `token ${name} revoked`,
  user_set: (name) => `login of ${name} set`,
  user_removed: (name) => `login of ${name} removed`,
};

const formatConsumption = (added: number, total: number, suffix: string): string =>
  added < 0
    ? `${-added}${suffix} returned, ${total} in total`
    : `${added}${suffix} consumed, ${total} in total`;

const formatTime = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).round("second").toString();

const pluralize = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

const formatList = (names: readonly string[]): string => names.join(", ") || "none";
