import { DAY, HOUR, instant, later, latest, type Instant } from "../../domain/time.ts";
import { newestAnsweringSerial } from "../issuing/ending-receipt.ts";
import { isSameLicenseKey } from "../issuing/license-key.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import {
  licenseAtAppliance,
  type IssuedEntry,
  type OrderEntry,
  type ReceiptEntry,
} from "../ledger/ledger-entries.ts";

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
  const groups = [...Map.groupBy(issued, licenseAtAppliance).values()];
  return {
    licenses: groups.flatMap((serials) => describeLicenses(ledger, serials)),
    takes:
      issued.filter(({ use }) => use === "take").length +
      groups.filter(([first]) => first?.use === undefined).length,
    moves: issued.filter(({ use }) => use === "move").map(({ at }) => instant(Date.parse(at))),
  };
}

/**
 * The serials of one id at one appliance. By file they are one license. By code the id stays after
 * a return: each part up to a returned serial is a license of its own, whose place may be waiting.
 */
function describeLicenses(ledger: LedgerIndex, serials: readonly IssuedEntry[]): OrderLicense[] {
  const [first] = serials;
  const all = first === undefined ? [] : ledger.receiptsFor(first);
  const byReceipt = Map.groupBy(
    serials,
    ({ serial }) => findReturnedSerial(serial, serials, all) ?? Infinity,
  );
  return [...byReceipt].map(([returned, part]) =>
    describeLicense(
      ledger,
      part,
      all.filter(({ serial }) => serial === returned),
    ),
  );
}

/** The returned serial that ends this one; null: none does. */
function findReturnedSerial(
  serial: number,
  serials: readonly IssuedEntry[],
  receipts: readonly ReceiptEntry[],
): number | null {
  const answer = newestAnsweringSerial(serials.filter((entry) => entry.serial <= serial));
  const returned = receipts.map((receipt) => receipt.serial).filter((end) => end >= answer);
  return returned.length === 0 ? null : Math.min(...returned);
}

function describeLicense(
  ledger: LedgerIndex,
  serials: readonly IssuedEntry[],
  receipts: readonly ReceiptEntry[],
): OrderLicense {
  const newest = serials.reduce((a, b) => (b.serial >= a.serial ? b : a));
  const lastTotal = findLastTotal(ledger, newest);
  if (receipts.length > 0) {
    const hours = Math.max(0, ...serials.map(({ terms }) => terms.borrow_hours ?? 0));
    const ends = receipts.map(({ at, removed_at, borrows }) => {
      // The desk's clock may have been behind. The site can only delay its own place.
      const returnedAt = Math.max(Date.parse(at), Date.parse(removed_at) || 0);
      return borrows > 0 ? later(instant(returnedAt), hours * HOUR) : instant(Date.parse(at));
    });
    return {
      newest,
      // A restored copy may report less than the site did before.
      lastTotal: Math.max(lastTotal ?? 0, ...receipts.map((receipt) => receipt.total_consumptions)),
      end: { cause: "returned", freeAt: ends.reduce((a, b) => latest(a, b)) },
    };
  }
  const writeOff = ledger.findWriteOff(newest);
  const end =
    writeOff && ({ cause: "written off", freeAt: instant(Date.parse(writeOff.at)) } as const);
  return { newest, lastTotal, end };
}

/**
 * The highest that the site's requests said, in whatever order they arrived; by code also of
 * earlier licenses, which have the same id.
 */
function findLastTotal(ledger: LedgerIndex, { appliance, license_id }: IssuedEntry): number | null {
  const totals = ledger
    .seenEntries(appliance)
    .flatMap((seen) => seen.totals)
    .filter((total) => total.license_id === license_id);
  return totals.length === 0 ? null : Math.max(...totals.map(({ total }) => total));
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
