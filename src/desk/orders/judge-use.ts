import { DAY, earliest, type Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import type { IssuedEntry, OrderEntry, OrderUse } from "../ledger/ledger-entries.ts";
import {
  countMoves,
  listHolders,
  listWaiting,
  readOrderState,
  type OrderLicense,
  type OrderState,
} from "./order-state.ts";
import { countsForGood, usedBefore } from "./remaining-consumption.ts";

/** Why a person must decide. */
export type ReasonCode =
  "vendor_key" | "moves_used" | "consumption_again" | "desk_restored" | "written_off" | "warning";

export interface Reason {
  readonly code: ReasonCode;
  readonly text: string;
}

/** Whether a person who runs the command must confirm it as well: that is a decision itself. */
export const needsConsent = ({ code }: Reason): boolean => code !== "vendor_key";

/** Who asks for a license under the key of an order. */
export interface Claim {
  readonly appliance: string;
  readonly form: "file" | "code";
  /** Whether hardware or hosts are others than those of the license that it holds. */
  readonly isElsewhere: (license: IssuedEntry) => boolean;
  /** Whether the site has this license installed; null: it does not say. */
  readonly hasInstalled: (license: IssuedEntry) => boolean | null;
  /** Whether the request shows that the ledger lacks what the desk issued. */
  readonly showsLoss: boolean;
  /** The appliance whose machine was lost, and whose place is wanted; null: none. */
  readonly lostAppliance: string | null;
}

export interface JudgedUse {
  readonly use: OrderUse;
  /** The license that it continues; null: it is a new one. */
  readonly before: IssuedEntry | null;
  /** The license of the lost machine; null: none was named. */
  readonly lost: IssuedEntry | null;
  /** Empty: it is answered automatically. */
  readonly reasons: readonly Reason[];
  /** What of the consumption that the order sells earlier holders of the place used. */
  readonly usedBefore: number;
}

/**
 * Decides how a license under the key of an order uses the order: by the ledger alone. Throws where
 * no person may grant it without changing the order.
 */
export function judgeUse(
  ledger: LedgerIndex,
  order: OrderEntry,
  claim: Claim,
  now: Instant,
): JudgedUse {
  refuseUnusable(ledger, order, now);
  const state = readOrderState(ledger, order);
  const { appliance, lostAppliance } = claim;
  const holder = findHolder(state, appliance);
  const always = findWriteOffs(ledger, appliance);
  const isBehind = ledger.orders.restored !== null || claim.showsLoss;
  if (holder !== null) {
    const before = holder.newest;
    refuseOtherForm(before, claim, order);
    if (lostAppliance !== null) throw holdsAlready(order, appliance);
    const use = claim.isElsewhere(before) ? "move" : "renewal";
    // It may have returned the license after the backup, so that its place is another appliance's.
    const mayHaveReturned = isBehind && claim.hasInstalled(before) === false;
    const reasons = [
      ...(mayHaveReturned ? [DESK_RESTORED] : []),
      ...(use === "move" ? judgeMove(order, state, before, now) : []),
    ];
    const all = [...always, ...reasons];
    return { use, before, lost: null, reasons: all, usedBefore: before.used_before ?? 0 };
  }
  const lost = lostAppliance === null ? null : findLost(state, lostAppliance, order);
  refuseIfFull(order, state, lost, always, now);
  const isFirst = lost === null && state.takes < order.appliances;
  const reasons: Reason[] = [
    ...always,
    ...(order.is_own_key ? [] : [VENDOR_KEY]),
    ...(isBehind ? [DESK_RESTORED] : []),
    ...(isFirst ? [] : judgeMove(order, state, lost, now)),
  ];
  const use = isFirst ? "take" : "move";
  return {
    use,
    before: null,
    lost,
    reasons,
    usedBefore: isFirst ? 0 : usedBefore(order, state, lost),
  };
}

function refuseUnusable({ orders }: LedgerIndex, { license_key, terms }: OrderEntry, now: Instant) {
  const closing = orders.findClosing(license_key);
  if (closing !== null) {
    throw new DeskRefused(
      `the order ${license_key} was closed on ${closing.at.slice(0, 10)}: ${closing.reason}`,
      "berth vendor order add adds another order",
    );
  }
  const { valid_until } = terms;
  if (valid_until === null || Date.parse(valid_until) > now) return;
  throw new DecisionNeeded(
    "order_ended",
    `the order ${license_key} ended on ${valid_until}`,
    `berth vendor order renew ${license_key} --valid-until DAY`,
  );
}

const findHolder = (state: OrderState, appliance: string): OrderLicense | null =>
  listHolders(state).findLast(({ newest }) => newest.appliance === appliance) ?? null;

/** A site that has both a file and a code of one order would grant its slots twice. */
function refuseOtherForm(license: IssuedEntry, { form }: Claim, { license_key }: OrderEntry): void {
  const licenseForm = license.jwk === null ? "code" : "file";
  if (licenseForm === form) return;
  throw new DecisionNeeded(
    "other_form",
    `this appliance holds the order ${license_key} by ${licenseForm}: license ${license.license_id}`,
    `ask the site to return it first, or ${form === "file" ? "confirm its next activation code" : "answer its next request"}`,
  );
}

const holdsAlready = ({ license_key }: OrderEntry, appliance: string): DeskRefused =>
  new DeskRefused(
    `appliance ${appliance} already holds the order ${license_key}`,
    "omit --write-off to renew its license",
  );

function findLost(state: OrderState, lost: string, { license_key }: OrderEntry): IssuedEntry {
  const holder = findHolder(state, lost);
  if (holder !== null) return holder.newest;
  throw new DeskRefused(
    `appliance ${lost} does not hold the order ${license_key}`,
    `berth vendor order show ${license_key} shows who does`,
  );
}

function refuseIfFull(
  order: OrderEntry,
  state: OrderState,
  lost: IssuedEntry | null,
  findings: readonly Reason[],
  now: Instant,
): void {
  const { appliances, license_key } = order;
  const [holders, waiting] = [listHolders(state), listWaiting(state, now)];
  const inUse = holders.length - (lost === null ? 0 : 1);
  if (inUse + waiting.length < appliances) return;
  const places = appliances === 1 ? "its place is" : `all ${appliances} places are`;
  const names = holders.map(({ newest }) => newest.appliance).join(", ");
  const ends = waiting.map(({ end }) => end?.freeAt ?? now);
  const isWaiting = waiting.length > 0 && inUse < appliances;
  const problem = isWaiting
    ? `a license of the order ${license_key} was returned while slots were borrowed: its place is free at ${rfc3339(earliestOf(ends))}`
    : `the order ${license_key} is for ${formatAppliances(appliances)}, and ${places} taken: ${names}`;
  throw new DecisionNeeded(
    findings[0]?.code ?? (isWaiting ? "place_waiting" : "order_full"),
    [...findings.map(({ text }) => text), problem].join("; "),
    // Its place went to the machine that replaced it, which must not be written off in turn.
    findings.length > 0
      ? `ask the site to return the license of this machine, or to stop it; berth vendor order show ${license_key} shows who has its place`
      : `ask that site to return its license; if its machine is lost, answer this one with --write-off APPLIANCE --reason TEXT; berth vendor order change ${license_key} --appliances ${appliances + 1} sells another place`,
  );
}

const formatAppliances = (count: number): string =>
  count === 1 ? "one appliance" : `${count} appliances`;

const earliestOf = (instants: readonly Instant[]): Instant =>
  instants.reduce((a, b) => earliest(a, b));

const VENDOR_KEY: Reason = {
  code: "vendor_key",
  text: "the license key is the vendor's own and can be guessed: compare who asks",
};

const DESK_RESTORED: Reason = {
  code: "desk_restored",
  text: "the ledger may lack what this desk issued or received, and the appliance may be no holder",
};

export const findWriteOffs = ({ orders }: LedgerIndex, appliance: string): Reason[] =>
  orders.writeOffsOf(appliance).map(({ at, license_id }) => ({
    code: "written_off",
    text: `license ${license_id} of this appliance was written off on ${at.slice(0, 10)}, but the appliance is alive`,
  }));

function judgeMove(
  order: OrderEntry,
  state: OrderState,
  before: IssuedEntry | null,
  now: Instant,
): Reason[] {
  const count = countMoves(state, now);
  const allowed = order.moves;
  const limit = `${allowed === 1 ? "1 move" : `${allowed} moves`} in 365 days`;
  const moves: Reason[] =
    count < allowed
      ? []
      : [
          {
            code: "moves_used",
            text: `the license goes to other hardware; the order allows ${limit}, and ${count} ${count === 1 ? "was" : "were"} granted since ${rfc3339((now - 365 * DAY) as Instant).slice(0, 10)}`,
          },
        ];
  if (!countsForGood(order.terms)) return moves;
  const from = before === null ? "a place that was used before" : `appliance ${before.appliance}`;
  return [
    ...moves,
    {
      code: "consumption_again",
      text: `consumption without a period was already issued to ${from}`,
    },
  ];
}
