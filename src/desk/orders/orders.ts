import type { Instant } from "../../domain/time.ts";
import { generateOrderKey } from "../../license/codes/order-key.ts";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";
import { applyTermsChanges, describeDocumentDifference } from "../issuing/apply-terms.ts";
import { comparableLicenseKey, normalizeLicenseKey } from "../issuing/license-key.ts";
import type { CustomerEntry, LedgerEntry, OrderEntry } from "../ledger/ledger-entries.ts";
import { CustomerBook } from "./customers.ts";
import { listHolders, readOrderState } from "./order-state.ts";

/** What a vendor sells in an order besides the terms of its licenses. */
export interface OrderSize {
  readonly appliances: number;
  readonly hosts: 1 | 2;
  readonly allow_weak_binding: boolean;
  readonly moves: number;
  /** Null: the order is served by file alone. */
  readonly policy_id: string | null;
}

export const USUAL_SIZE: OrderSize = {
  appliances: 1,
  hosts: 1,
  allow_weak_binding: false,
  moves: 1,
  policy_id: null,
};

export const ORDER_LIMITS = { appliances: 100_000, moves: 1_000 } as const;

export interface NewOrder extends OrderSize {
  /** The id or the name of a customer; a new name makes a new customer. */
  readonly customer: string;
  /** Null: the desk makes one. */
  readonly licenseKey: string | null;
  readonly terms: TermsChanges;
}

export interface NewOrders {
  readonly orders: readonly OrderEntry[];
  readonly customers: readonly CustomerEntry[];
}

/** Checks new orders and makes their keys; writes nothing. `onFault`: per order; it may go on. */
export function prepareOrders(
  desk: DeskFacts,
  wanted: readonly NewOrder[],
  now: Instant,
  onFault: (index: number, fault: DeskRefused) => void = (_, fault) => {
    throw fault;
  },
): NewOrders {
  const customers = new CustomerBook(desk.ledger.orders, rfc3339(now));
  const keys = new Set<string>();
  const orders = wanted.flatMap((order, index) => {
    try {
      const entry = prepareOrder(desk, order, customers, now);
      if (keys.has(entry.license_key))
        throw keyInUse(entry.license_key, "another order of the same import");
      keys.add(entry.license_key);
      return [entry];
    } catch (error) {
      if (!(error instanceof DeskRefused)) throw error;
      onFault(index, error);
      return [];
    }
  });
  return { orders, customers: customers.added };
}

function prepareOrder(
  desk: DeskFacts,
  { customer, licenseKey, terms, ...size }: NewOrder,
  customers: CustomerBook,
  now: Instant,
): OrderEntry {
  const key = licenseKey === null ? generateOrderKey() : readKey(licenseKey);
  if (desk.ledger.orders.findOrder(key) !== null) throw keyInUse(key, "another order");
  if (desk.ledger.issuedUnder(key).length > 0) {
    throw new DeskRefused(
      `the license key ${key} is in licenses that were issued without an order`,
      "berth vendor order adopt makes an order for them",
    );
  }
  const policy = terms.product === undefined ? findPolicyTerms(desk, size.policy_id) : null;
  const sold = buildSoldTerms(desk, policy, terms);
  refusePastEnd(sold, now);
  return {
    type: "order",
    at: rfc3339(now),
    license_key: key,
    is_own_key: licenseKey === null,
    customer: customers.findOrAdd(customer).id,
    terms: sold,
    ...checkSize(desk, size, sold),
  };
}

/** The terms of an order that names none: a code has those of its policy. */
const findPolicyTerms = ({ ledger }: DeskFacts, policyId: string | null): TermsDocument | null =>
  policyId === null ? null : (ledger.policiesNamed(policyId).at(-1)?.terms ?? null);

function refusePastEnd({ valid_until: end }: TermsDocument, now: Instant): void {
  if (end === null || Date.parse(end) > now) return;
  throw new DeskRefused(`the order would already have ended on ${end}`, "choose a later end");
}

const keyInUse = (key: string, where: string): DeskRefused =>
  new DeskRefused(`the license key ${key} is used by ${where}`, "choose another key, or none");

const MAX_KEY_LENGTH = 256;

function readKey(text: string): string {
  const key = normalizeLicenseKey(text);
  if (key !== "" && key.length <= MAX_KEY_LENGTH) return key;
  throw new DeskRefused(
    `a license key must have 1 to ${MAX_KEY_LENGTH} characters`,
    "omit it: the desk makes one that can be read out and typed",
  );
}

/** The terms of an order, without the key and the customer, which it has itself. */
function buildSoldTerms(
  desk: DeskFacts,
  before: TermsDocument | null,
  changes: TermsChanges,
): TermsDocument {
  return applyTermsChanges(desk, before, { ...changes, license_key: null, customer: null });
}

function checkSize(desk: DeskFacts, size: OrderSize, terms: TermsDocument) {
  const { appliances, hosts, allow_weak_binding, moves, policy_id } = size;
  checkCount("appliances", appliances, 1, ORDER_LIMITS.appliances);
  checkCount("moves", moves, 0, ORDER_LIMITS.moves);
  if (policy_id === null) return { appliances, hosts, allow_weak_binding, moves };
  const policy = desk.ledger.policiesNamed(policy_id).at(-1);
  if (policy === undefined) {
    throw new DeskRefused(
      `this desk signed no policy ${policy_id}`,
      "sign it first: berth vendor policy --policy-id ID",
    );
  }
  if (hosts === 2) {
    throw new DeskRefused(
      "an order of two hosts cannot be served by code",
      "omit the policy, or sell one host",
    );
  }
  const differences = describePolicyDifference(terms, policy.terms);
  if (differences.length > 0) {
    throw new DeskRefused(
      `policy ${policy_id} differs from the order: ${differences.join("; ")}`,
      "a code has the terms of its policy; sell those, or sign another policy",
    );
  }
  return { appliances, hosts, allow_weak_binding, moves, policy_id };
}

/**
 * How the terms of a policy, which a code confirms, differ from those of an order. The end, and the
 * type that follows from it, come from the order.
 */
export function describePolicyDifference(order: TermsDocument, policy: TermsDocument): string[] {
  const { valid_until, license_type, license_key, customer } = order;
  const confirmed = { ...policy, valid_until, license_type, license_key, customer };
  return describeDocumentDifference(order, confirmed);
}

function checkCount(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new DeskRefused(`${name} must be a whole number from ${min} to ${max}`, `it is ${value}`);
}

/** Adds orders and their new customers: all of them, or none. */
export async function addOrders(
  desk: DeskRecords,
  wanted: readonly NewOrder[],
  now: Instant,
): Promise<readonly OrderEntry[]> {
  return desk.ledger.transact(async (append) => {
    const { orders, customers } = prepareOrders(desk, wanted, now);
    await append(...customers, ...orders);
    return orders.map((order) => desk.ledger.orders.findOrder(order.license_key) ?? order);
  });
}

/** What an order becomes; members that are absent stay as they are. */
export interface OrderChanges extends Partial<OrderSize> {
  readonly customer?: string;
  readonly terms?: TermsChanges;
}

export interface ChangedOrder {
  readonly before: OrderEntry;
  readonly after: OrderEntry;
  /** One text for each difference. */
  readonly differences: readonly string[];
  readonly entries: readonly LedgerEntry[];
}

export function getOpenOrder({ ledger: { orders } }: DeskFacts, licenseKey: string): OrderEntry {
  const key = comparableLicenseKey(licenseKey);
  const order = orders.findOrder(key);
  if (order === null)
    throw new DeskRefused(`there is no order ${key}`, "berth vendor order list shows the orders");
  const closing = orders.findClosing(key);
  if (closing === null) return order;
  throw new DeskRefused(
    `the order ${key} was closed on ${closing.at.slice(0, 10)}: ${closing.reason}`,
    "berth vendor order add adds another order",
  );
}

/** Computes a changed order; writes nothing. */
export function prepareChange(
  desk: DeskFacts,
  licenseKey: string,
  { customer, terms = {}, ...size }: OrderChanges,
  now: Instant,
): ChangedOrder {
  const before = getOpenOrder(desk, licenseKey);
  const customers = new CustomerBook(desk.ledger.orders, rfc3339(now));
  const sold = buildSoldTerms(desk, before.terms, terms);
  refuseOtherProduct(before, sold);
  if (sold.valid_until !== before.terms.valid_until) refusePastEnd(sold, now);
  const { policy_id: _policy, by: _by, ...rest } = before;
  const after: OrderEntry = {
    ...rest,
    at: rfc3339(now),
    customer: customer === undefined ? before.customer : customers.findOrAdd(customer).id,
    terms: sold,
    ...checkSize(desk, { ...before, policy_id: before.policy_id ?? null, ...size }, sold),
  };
  const holders = listHolders(readOrderState(desk.ledger, before));
  if (after.appliances < before.appliances && after.appliances < holders.length) {
    throw new DeskRefused(
      `${holders.length} appliances hold the order ${before.license_key}: ${holders.map(({ newest }) => newest.appliance).join(", ")}`,
      "ask sites to return their licenses first",
    );
  }
  const differences = describeOrderDifference(before, after, customers);
  const entries = differences.length === 0 ? [] : [...customers.added, after];
  return { before, after, differences, entries };
}

/** A site could not renew its license: that is for one product. */
function refuseOtherProduct(before: OrderEntry, terms: TermsDocument): void {
  if (terms.product === before.terms.product) return;
  throw new DeskRefused(
    `the order ${before.license_key} is for ${before.terms.product}`,
    "sell another product with another order: berth vendor order add",
  );
}

function describeOrderDifference(
  before: OrderEntry,
  after: OrderEntry,
  customers: CustomerBook,
): string[] {
  const names = ["appliances", "hosts", "moves", "allow_weak_binding", "policy_id"] as const;
  const nameOf = (id: string): string => customers.find(id)?.name ?? id;
  return [
    ...(before.customer === after.customer
      ? []
      : [`customer ${nameOf(before.customer)} → ${nameOf(after.customer)}`]),
    ...names.flatMap((name) => {
      const [from, to] = [before[name] ?? "none", after[name] ?? "none"];
      return from === to ? [] : [`${name.replaceAll("_", " ")} ${from} → ${to}`];
    }),
    ...describeDocumentDifference(before.terms, after.terms),
  ];
}

/** Changes orders: all of them, or none. An order that stays as it is gets no line. */
export function changeOrders(
  desk: DeskRecords,
  changes: readonly { readonly licenseKey: string; readonly changes: OrderChanges }[],
  now: Instant,
): Promise<readonly ChangedOrder[]> {
  return desk.ledger.transact(async (append) => {
    const changed = changes.map((change) =>
      prepareChange(desk, change.licenseKey, change.changes, now),
    );
    const entries = changed.flatMap((change) => change.entries);
    if (entries.length > 0) await append(...entries);
    return changed;
  });
}

/** Closes an order that was a mistake: nothing more is issued under its key. */
export function closeOrder(
  desk: DeskRecords,
  licenseKey: string,
  reason: string,
  now: Instant,
): Promise<OrderEntry> {
  return desk.ledger.transact(async (append) => {
    const order = getOpenOrder(desk, licenseKey);
    const { license_key } = order;
    await append({ type: "order-closed", at: rfc3339(now), license_key, reason });
    return order;
  });
}

/** Those of new orders whose customer bought exactly the same before. */
export function findRepeatedOrders(desk: DeskFacts, orders: readonly OrderEntry[]): OrderEntry[] {
  const sold = new Set(desk.ledger.orders.orders().map(describeSale));
  return orders.filter((order) => sold.has(describeSale(order)));
}

const describeSale = (order: OrderEntry): string => {
  const { customer, terms, appliances, hosts, moves, policy_id } = order;
  return JSON.stringify([customer, terms, appliances, hosts, moves, policy_id]);
};
