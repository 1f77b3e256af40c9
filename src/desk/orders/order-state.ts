import { DAY, HOUR, instant, later, type Instant } from "../../domain/time.ts";
import { isSameLicenseKey } from "../issuing/license-key.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import type { IssuedEntry, OrderEntry } from "../ledger/ledger-entries.ts";

/** A license under the key of an order at one appliance, in its newest serial. */
export interface OrderLicense {
  readonly newest: IssuedEntry;
  /** Consumption when it ended, as the site said last; null: nothing is known. */
  readonly lastTotal: number | null;
  /** Null: its appliance holds the order, also after the license expired. */
  readonly end: {
    readonly cause: "returned" | "written off";
    /** From when on another appliance can take the place: borrowed slots may be in use before. */
    readonly freeAt: Instant;
  } | null;
}

/** How an order is used: by all licenses under its key, by file and by code. */
export interface OrderState {
  /** Oldest first. */
  readonly licenses: readonly OrderLicense[];
  /** Places that were taken for the first time. */
  readonly takes: number;
  /** When moves were granted. */
  readonly moves: readonly Instant[];
}

type OrderKey = Pick<OrderEntry, "license_key" | "adopted">;

export function readOrderState(ledger: LedgerIndex, order: OrderKey): OrderState {
  const issued = [
    ...(order.adopted ?? [])
      .flatMap((license) => ledger.serialsOf(license))
      .filter(({ terms }) => !isSameLicenseKey(terms.license_key, order.license_key)),
    ...ledger.issuedUnder(order.license_key),
  ];
  const groups = Map.groupBy(issued, ({ license_id, appliance }) => `${license_id} ${appliance}`);
  return {
    licenses: [...groups.values()].map((serials) => describeLicense(ledger, serials)),
    takes:
      issued.filter(({ use }) => use === "take").length +
      [...groups.values()].filter(([first]) => first?.use === undefined).length,
    moves: issued.filter(({ use }) => use === "move").map(({ at }) => instant(Date.parse(at))),
  };
}

function describeLicense(ledger: LedgerIndex, serials: readonly IssuedEntry[]): OrderLicense {
  const newest = serials.reduce((a, b) => (b.serial >= a.serial ? b : a));
  const { license_id, appliance } = newest;
  const receipt = ledger.findReceipt({ license_id, appliance, serial: Infinity });
  const totals = ledger.seenEntries(appliance).flatMap((seen) => seen.totals);
  const lastSeen = totals.findLast((total) => total.license_id === license_id)?.total ?? null;
  if (receipt !== null) {
    const hours = Math.max(0, ...serials.map(({ terms }) => terms.borrow_hours ?? 0));
    const at = instant(Date.parse(receipt.at));
    const freeAt = receipt.borrows > 0 ? later(at, hours * HOUR) : at;
    return { newest, lastTotal: receipt.total_consumptions, end: { cause: "returned", freeAt } };
  }
  const writeOff = ledger.findWriteOff(newest);
  if (writeOff === null) return { newest, lastTotal: lastSeen, end: null };
  const freeAt = instant(Date.parse(writeOff.at));
  return { newest, lastTotal: lastSeen, end: { cause: "written off", freeAt } };
}

/** The licenses whose appliances hold the order. */
export const listHolders = ({ licenses }: OrderState): OrderLicense[] =>
  licenses.filter(({ end }) => end === null);

/** Places that nobody holds and that nobody can take yet. */
export const listWaiting = ({ licenses }: OrderState, now: Instant): OrderLicense[] =>
  licenses.filter(({ end }) => end !== null && end.freeAt > now);

const MOVE_PERIOD = 365 * DAY;

export const countMoves = ({ moves }: OrderState, now: Instant): number =>
  moves.filter((at) => at > now - MOVE_PERIOD).length;
