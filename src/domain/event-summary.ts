import type { AccessChange, Event, ReleasedBy } from "./event.ts";
import type { JumpReason } from "./clock-jump-types.ts";
import type { AuditGap } from "./state.ts";
import type { Instant } from "./time.ts";

/** What people are told of an event; who it was and where from stands beside it. */
export interface EventSummary {
  readonly summary: string;
}

/** An event in words, for every place that shows the record. */
export function summarize(event: Event): EventSummary {
  if (!isKnownEvent(event)) {
    return { summary: `unknown event from a newer version of berth: ${event.type}` };
  }
  const say = SUMMARIES[event.type] as (one: Event) => string;
  return { summary: say(event) };
}

type Summarizer<T extends Event["type"]> = (event: Extract<Event, { readonly type: T }>) => string;

/** An event without its sentence here does not compile. */
const SUMMARIES: { readonly [T in Event["type"]]: Summarizer<T> } = {
  Created: ({ kind }) => `data folder created (${kind})`,
  VendorTrusted: ({ vendor: { name, products, retired = [] } }) =>
    `vendor ${name} trusted for ${list(products)}` +
    (retired.length === 0 ? "" : `; ${count(retired.length, "retired key")}`),
  VendorDistrusted: ({ vendor }) => `vendor ${vendor} no longer trusted`,
  RequestMade: ({ request }) => `license request ${request.request} created`,
  ActivationMade: ({ activation }) =>
    `activation code created for license key ${activation.licenseKey}`,
  LicenseInstalled: ({ license, terms, grant }) =>
    `license ${license} installed: ${terms.product}, ${count(terms.slots, "slot")}, ` +
    `${terms.validUntil === null ? "no expiry" : `until ${time(terms.validUntil)}`}, ` +
    `serial ${grant.serial}`,
  LicenseRemoved: ({ license, tombstone: { borrows } }) =>
    `license ${license} returned to the vendor${
      borrows.length === 0 ? "" : `, with ${count(borrows.length, "borrowed slot")}`
    }`,
  SlotTaken: ({ end }) => `slot taken until ${time(end)}`,
  SlotRenewed: ({ contact, leasedTo }) =>
    (contact === undefined ? "slot renewed" : "slot renewed from another machine") +
    (leasedTo === undefined ? "" : ", borrow leased to a device"),
  ContactChanged: ({ hostname }) =>
    hostname === "" ? "slot used from another machine" : `slot used from ${hostname}`,
  SlotBorrowed: ({ until, early }) =>
    early ? `borrow shortened to ${time(until)}` : `slot borrowed until ${time(until)}`,
  SlotReleased: ({ by, early }) =>
    `slot ${RELEASE_TEXTS[by]}${early ? " before its borrow ended" : ""}`,
  SlotExpired: () => "slot expired",
  SlotRestored: ({ until }) => `borrow restored until ${time(until)}: the clock had been ahead`,
  FeatureTaken: ({ feature, end }) => `feature ${feature} taken until ${time(end)}`,
  FeatureRenewed: ({ feature }) => `feature ${feature} renewed`,
  FeatureReleased: ({ feature, by }) => `feature ${feature} ${RELEASE_TEXTS[by]}`,
  FeatureExpired: ({ feature }) => `feature ${feature} expired`,
  ConsumptionAdded: ({ count: added, total }) => counted(added, total, ""),
  FeatureConsumptionAdded: ({ count: added, total, feature }) =>
    counted(added, total, ` of feature ${feature}`),
  KeyRemembered: () => "outcome recorded for an idempotency key",
  KeysSet: ({ changed }) => `cloud credentials replaced: ${list(changed)}`,
  AccessChanged: ({ change, name }) => ACCESS_CHANGE_TEXTS[change](name),
  Restored: ({ restore: { seq } }) => `backup restored; its last change was ${seq}`,
  MovedAway: () => "moved to another host",
  MovedIn: () => "moved here from another host",
  AuditGapDeclared: ({ gap, note }) =>
    `audit log ${formatGap(gap)}${note === "" ? "" : `: ${note}`}`,
  ClockMarked: () => "time marked",
  ClockJumped: ({ from, to, reason }) =>
    `clock jumped from ${time(from)} to ${time(to)}${JUMP_REASON_TEXTS[reason]}`,
  ClockAsked: () => "time requested from a vendor",
  ClockSetBack: ({ from, to }) => `time set back from ${time(from)} to ${time(to)}`,
  RefusalsCounted: ({ count: times, code }) => `${count(times, "request")} refused: ${code}`,
};

/** The names of all there are. */
export const eventTypes: ReadonlySet<string> = new Set(Object.keys(SUMMARIES));

/** False for one that a newer version wrote: its fields can mean anything. */
export const isKnownEvent = ({ type }: Event): boolean => eventTypes.has(type);

/**
 * Where somebody called from, for people. Through the unix socket, it is only certain that it was
 * on the machine itself: whoever may open it is root or the owner of the data folder, and the
 * commands of root become the owner first.
 */
export const formatPeer = (peer: string): string => (peer === "socket" ? "this machine" : peer);

type GapRange = Pick<AuditGap, "from" | "to"> & { readonly reason: string };

/** The range and why, as every place names it. */
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

const counted = (added: number, total: number, what: string): string =>
  added < 0
    ? `${-added}${what} returned, ${total} in total`
    : `${added}${what} consumed, ${total} in total`;

const time = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).round("second").toString();

const count = (number: number, thing: string): string =>
  `${number} ${thing}${number === 1 ? "" : "s"}`;

const list = (names: readonly string[]): string => names.join(", ") || "none";
