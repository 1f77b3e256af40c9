import type { Instant } from "../../domain/time.ts";
import type { DeskFacts } from "../desk-records.ts";
import { isSameLicenseKey } from "../issuing/license-key.ts";
import type { OrderEntry } from "../ledger/ledger-entries.ts";
import type { Customer } from "./order-index.ts";
import {
  countMoves,
  listHolders,
  listWaiting,
  readOrderState,
  type OrderState,
} from "./order-state.ts";

export const ORDER_STATES = ["open", "full", "ended", "closed"] as const;

export interface ListedOrder {
  readonly order: OrderEntry;
  readonly customer: Customer;
  /** `full`: every place is in use. */
  readonly state: (typeof ORDER_STATES)[number];
  readonly use: OrderState;
  readonly holders: number;
  /** Places that were returned while slots were borrowed, and that nobody can take yet. */
  readonly waiting: number;
  /** In the last 365 days. */
  readonly moves: number;
}

export function describeOrder(
  desk: Pick<DeskFacts, "ledger">,
  order: OrderEntry,
  now: Instant,
): ListedOrder {
  const { ledger } = desk;
  const use = readOrderState(ledger, order);
  const [holders, waiting] = [listHolders(use).length, listWaiting(use, now).length];
  const end = order.terms.valid_until;
  const isClosed = ledger.orders.findClosing(order.license_key) !== null;
  const isEnded = end !== null && Date.parse(end) <= now;
  const isFull = holders + waiting >= order.appliances;
  const state = isClosed ? "closed" : isEnded ? "ended" : isFull ? "full" : "open";
  const customer = ledger.orders.findCustomer(order.customer) ?? {
    id: order.customer,
    name: order.customer,
  };
  return { order, customer, state, use, holders, waiting, moves: countMoves(use, now) };
}

/** Oldest first. */
export const listOrders = (desk: Pick<DeskFacts, "ledger">, now: Instant): ListedOrder[] =>
  desk.ledger.orders.orders().map((order) => describeOrder(desk, order, now));

/** Which orders to list; null: any value. */
export interface OrderFilter {
  /** A part of the customer's name, or its id. */
  readonly customer: string | null;
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly state: ListedOrder["state"] | null;
  /** Orders that have not ended and end by this instant, the next to end first. */
  readonly endingBefore: Instant | null;
}

export function filterOrders(
  orders: readonly ListedOrder[],
  { customer, product, licenseKey, state, endingBefore }: OrderFilter,
): ListedOrder[] {
  const endOf = ({ order }: ListedOrder): number => Date.parse(order.terms.valid_until ?? "");
  const isEnding = (listed: ListedOrder, before: Instant): boolean =>
    endOf(listed) <= before && (listed.state === "open" || listed.state === "full");
  const matches = orders.filter(
    (listed) =>
      (customer === null ||
        listed.customer.id === customer ||
        fold(listed.customer.name).includes(fold(customer))) &&
      (product === null || listed.order.terms.product === product) &&
      (licenseKey === null || isSameLicenseKey(listed.order.license_key, licenseKey)) &&
      (state === null || listed.state === state) &&
      (endingBefore === null || isEnding(listed, endingBefore)),
  );
  return endingBefore === null ? matches : matches.toSorted((a, b) => endOf(a) - endOf(b));
}

const fold = (text: string): string => text.normalize("NFC").toLowerCase();
