import type { Instant } from "../../domain/time.ts";
import { canonicalizeLicenseKey, generateOrderKey } from "../../license/codes/order-key.ts";
import { isWeakBinding } from "../../license/documents/hardware.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import {
  filterNewestSerials,
  isOutstanding,
  listLicenses,
  type ListedLicense,
} from "../ledger/license-list.ts";
import { describeDocumentDifference } from "../issuing/apply-terms.ts";
import { comparableLicenseKey } from "../issuing/license-key.ts";
import type { CustomerEntry, OrderEntry } from "../ledger/ledger-entries.ts";
import { CustomerBook } from "./customers.ts";
import { findOrderOf } from "./order-placement.ts";
import { USUAL_SIZE } from "./orders.ts";

export interface Adoption {
  readonly order: OrderEntry;
  readonly customer: string;
  readonly licenses: readonly ListedLicense[];
}

/** Licenses that cannot be in one order, and why. */
export interface NotAdopted {
  readonly licenses: readonly ListedLicense[];
  readonly problem: string;
}

export interface Adoptions {
  readonly adoptions: readonly Adoption[];
  readonly notAdopted: readonly NotAdopted[];
  readonly customers: readonly CustomerEntry[];
}

/**
 * Makes an order for each license in use that was issued without one, with its terms and holder:
 * one for all licenses with the same key, one each for those without a key. Writes nothing.
 * `fallback`: the customer of licenses that name none.
 */
export function prepareAdoptions(
  desk: DeskFacts,
  fallback: string | null,
  now: Instant,
): Adoptions {
  const at = rfc3339(now);
  const customers = new CustomerBook(desk.ledger.orders, at);
  const free = filterNewestSerials(listLicenses(desk.ledger, now))
    // One that expired holds its place as well, but an order of such ones alone sells nothing.
    .filter((license) => isOutstanding(license) || license.state === "ended")
    .filter((license) => findOrderOf(desk.ledger, license) === null)
    .toReversed();
  const byKey = Map.groupBy(free, (license) =>
    license.license_key === null
      ? `license ${license.license_id}`
      : `key ${comparableLicenseKey(license.license_key)}`,
  );
  const groups = [...byKey].filter(([, licenses]) => licenses.some(isOutstanding));
  const adoptions: Adoption[] = [];
  const notAdopted: NotAdopted[] = [];
  for (const [, licenses] of groups) {
    const newest = licenses.reduce((a, b) => (a.at > b.at ? a : b));
    const name = newest.customer ?? fallback;
    const problem = findProblem(desk, licenses, name);
    if (problem !== null || name === null) {
      notAdopted.push({ licenses, problem: problem ?? "" });
      continue;
    }
    const customer = customers.findOrAdd(name);
    const { license_key, terms } = newest;
    const key = license_key === null ? generateOrderKey() : canonicalizeLicenseKey(license_key);
    const order: OrderEntry = {
      type: "order",
      at,
      license_key: key,
      is_own_key: license_key === null,
      customer: customer.id,
      terms: { ...terms, license_key: null, customer: null },
      moves: USUAL_SIZE.moves,
      allow_weak_binding: licenses.every(({ hardware }) => hardware?.some(isWeakBinding)),
      appliances: licenses.length,
      hosts: newest.hosts?.length === 2 ? 2 : 1,
      ...findPolicy(desk, licenses),
      ...(license_key === null && {
        adopted: licenses.map(({ license_id, appliance }) => ({ license_id, appliance })),
      }),
    };
    adoptions.push({ order, customer: customer.name, licenses });
  }
  return { adoptions, notAdopted, customers: customers.added };
}

function findProblem(
  desk: DeskFacts,
  licenses: readonly ListedLicense[],
  customer: string | null,
): string | null {
  const products = new Set(licenses.map(({ product }) => product));
  if (products.size > 1) return `one key for several products: ${[...products].join(", ")}`;
  const [product] = products;
  if (product !== undefined && !desk.vendor.products.includes(product))
    return `${product} is no longer a product of this vendor`;
  const [first] = licenses;
  const appliances = new Set(licenses.map(({ appliance }) => appliance));
  if (appliances.size < licenses.length) return "one key twice at the same appliance";
  if (licenses.some((other) => (other.hosts?.length ?? 1) !== (first?.hosts?.length ?? 1)))
    return "one key for one host and for two";
  // Two customers who share a key must not get the terms of each other.
  const difference = licenses.flatMap(({ terms }) =>
    first === undefined ? [] : describeDocumentDifference(first.terms, terms),
  );
  if (difference.length > 0) return `one key with different terms: ${difference.join("; ")}`;
  return customer === null ? "no customer is named: --customer NAME names one" : null;
}

/** A license by code goes on with the policy that it was confirmed for. */
function findPolicy(desk: DeskFacts, licenses: readonly ListedLicense[]) {
  const hash = licenses.findLast(({ policy_hash }) => policy_hash !== undefined)?.policy_hash;
  const policy = desk.ledger.policyEntries().find(({ document }) => sha256(document) === hash);
  return policy === undefined ? {} : { policy_id: policy.policy_id };
}

/** Adds the orders; licenses that cannot be adopted are left as they are. */
export function adoptLicenses(
  desk: DeskRecords,
  fallback: string | null,
  now: Instant,
): Promise<Adoptions> {
  return desk.ledger.transact(async (append) => {
    const prepared = prepareAdoptions(desk, fallback, now);
    const orders = prepared.adoptions.map(({ order }) => order);
    if (orders.length > 0) await append(...prepared.customers, ...orders);
    return prepared;
  });
}
