import {
  describeDocumentDifference,
  isSameTerms,
  refuseForeignProduct,
} from "../issuing/apply-terms.ts";
import { refuseEndedLicense, RENEW_HINT } from "../issuing/renewed-license.ts";
import { readLicenseKey, type IssueOptions } from "../issuing/issue-options.ts";
import { isSameLicenseKey } from "../issuing/license-key.ts";
import type { HashedComponent } from "../../license/documents/hardware.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import type { DeskFacts } from "../desk-records.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import type { IssuedEntry, OrderEntry } from "../ledger/ledger-entries.ts";
import { judgeUse, type JudgedUse } from "./judge-use.ts";
import { listHolders, readOrderState } from "./order-state.ts";
import { isOtherHardware } from "./other-hardware.ts";
import { findUnknownLicenses } from "./unknown-licenses.ts";
import { withoutUsed } from "./remaining-consumption.ts";

/** A license under the key of an order: what it uses of the order, and its terms. */
export interface Placement extends JudgedUse {
  readonly order: OrderEntry;
  readonly terms: TermsDocument;
}

type Desk = Pick<DeskFacts, "vendor" | "ledger">;

/** Null: no order concerns what is asked for. */
export function placeUnderOrder(desk: Desk, options: IssueOptions): Placement | null {
  const order = findOrderFor(desk.ledger, options);
  if (order === null) return null;
  const { request, now, writeOff } = options;
  refuseOtherTerms(order, options);
  const renewed = request === null ? getRenewed(desk.ledger, options) : null;
  if (request !== null) checkHosts(order, request, options.hosts);
  if ((renewed?.hosts?.length ?? 1) > order.hosts) {
    throw new DecisionNeeded(
      "hosts",
      `license ${options.renewLicenseId} is for two hosts, and the order ${order.license_key} for one`,
      "ask the site for a new request: berth license request --hosts 1",
    );
  }
  const judged = judgeUse(
    desk.ledger,
    order,
    {
      appliance: (request ?? renewed)?.appliance ?? "",
      form: "file",
      isElsewhere: (license) =>
        request !== null && isOtherHardware(license, listHardware(request, options.hosts)),
      hasInstalled: (license) =>
        request?.licenses.some(({ license_id }) => license_id === license.license_id) ?? null,
      showsLoss: request !== null && findUnknownLicenses(desk, request).length > 0,
      lostAppliance: writeOff?.appliance ?? null,
    },
    now,
  );
  refuseOtherChoice(order, options, judged);
  const full = buildOrderTerms(desk, order);
  const usedBefore =
    options.terms.consumption?.max == null
      ? judged.usedBefore
      : Math.max(0, (full.consumption?.max ?? 0) - options.terms.consumption.max);
  return { ...judged, usedBefore, order, terms: withoutUsed(full, usedBefore) };
}

/** The components of each host that the license is for, as the request describes them. */
export const listHardware = (
  { hardware, pair }: LicenseRequest,
  hosts: 1 | 2 | null,
): readonly (readonly HashedComponent[])[] =>
  (pair === undefined || hosts === 1
    ? [hardware]
    : pair.hosts.map((host) => host.hardware)) as readonly (readonly HashedComponent[])[];

/** The terms that an order sells now, with its key and the customer's present name. */
function buildOrderTerms({ vendor, ledger }: Desk, order: OrderEntry): TermsDocument {
  refuseForeignProduct({ vendor }, order.terms.product);
  const customer = ledger.orders.findCustomer(order.customer)?.name ?? null;
  return { ...order.terms, license_key: order.license_key, customer };
}

/** What changed in the order since a license was issued; empty: nothing. */
export function describeChangesSince(desk: Desk, issued: IssuedEntry): string[] {
  const order = findOrderOf(desk.ledger, issued);
  if (order === null) return [];
  const terms = withoutUsed(buildOrderTerms(desk, order), issued.used_before ?? 0);
  return isSameTerms(issued.terms, terms) ? [] : describeDocumentDifference(issued.terms, terms);
}

/** The order that a license belongs to; null: it was issued without one. */
export function findOrderOf({ orders }: LedgerIndex, license: IssuedEntry): OrderEntry | null {
  const key = orders.adoptingKey(license) ?? license.terms.license_key;
  return key === null ? null : orders.findOrder(key);
}

/** The order that concerns what is asked for: by license, by key, or by its holder. */
export function findOrderFor(ledger: LedgerIndex, options: IssueOptions): OrderEntry | null {
  const key = readLicenseKey(options);
  const id = options.renewLicenseId ?? options.licenseId;
  const chosen = id === null ? undefined : ledger.issuedAs(id).at(-1);
  if (chosen !== undefined) {
    const order = findOrderOf(ledger, chosen);
    // A license of no order cannot take a place of one under its key: it would not be counted.
    if (order === null) return key === null ? null : ledger.orders.findOrder(key);
    if (key === null || isSameLicenseKey(key, order.license_key)) return order;
    throw new DeskRefused(
      `license ${id} belongs to the order ${order.license_key}, not to ${key}`,
      "omit one of them",
    );
  }
  if (key !== null) return ledger.orders.findOrder(key);
  const { request, writeOff } = options;
  const appliance = writeOff?.appliance ?? request?.appliance;
  if (appliance === undefined) return null;
  const product = options.terms.product ?? request?.product ?? null;
  const orders = listOrdersHeldBy(ledger, appliance).filter(
    ({ terms, license_key }) =>
      (product === null || terms.product === product) &&
      ledger.orders.findClosing(license_key) === null,
  );
  if (orders.length < 2) return orders[0] ?? null;
  const keys = orders.map(({ license_key }) => license_key).join(", ");
  throw new DecisionNeeded(
    "several_orders",
    `the request names no license key, and appliance ${appliance} holds several orders: ${keys}`,
    "choose one with --license-key KEY",
  );
}

/** The orders that an appliance holds. */
function listOrdersHeldBy(ledger: LedgerIndex, appliance: string): OrderEntry[] {
  const orders = new Set(ledger.issuedTo(appliance).map((entry) => findOrderOf(ledger, entry)));
  return [...orders].filter(
    (order) =>
      order !== null &&
      listHolders(readOrderState(ledger, order)).some(
        ({ newest }) => newest.appliance === appliance,
      ),
  ) as OrderEntry[];
}

function getRenewed(ledger: LedgerIndex, { renewLicenseId }: IssueOptions): IssuedEntry {
  const entry = renewLicenseId === null ? undefined : ledger.issuedAs(renewLicenseId).at(-1);
  if (entry === undefined)
    throw new DeskRefused("there is no request to answer", "use --request or --renew");
  refuseEndedLicense(ledger, entry, RENEW_HINT);
  return entry;
}

/** One place per decision: what was sold is changed in the order. */
function refuseOtherTerms(order: OrderEntry, { terms, request }: IssueOptions): void {
  const { license_key } = order;
  const { license_key: _, product, consumption, features, without, ...others } = terms;
  const isRest = consumption != null && Object.keys(consumption).join() === "max";
  const count =
    Object.keys(others).length +
    (features?.length ?? 0) +
    (without?.length ?? 0) +
    (consumption === undefined || isRest ? 0 : 1);
  if (count > 0) {
    throw new DeskRefused(
      `the terms of the order ${license_key} are those of the order`,
      `change them with berth vendor order change ${license_key}, and issue without terms`,
    );
  }
  const wanted = product ?? request?.product ?? order.terms.product;
  if (wanted === order.terms.product) return;
  throw new DecisionNeeded(
    "other_product",
    `the order ${license_key} is for ${order.terms.product}, not for ${wanted}`,
    `ask the site for a request for ${order.terms.product}`,
  );
}

function checkHosts(
  { hosts, license_key }: OrderEntry,
  { pair }: LicenseRequest,
  wanted: 1 | 2 | null,
) {
  const requested = pair === undefined ? 1 : 2;
  if (wanted === 2 && hosts === 1) throw notSold(license_key);
  if (wanted !== null || requested === hosts) return;
  throw new DecisionNeeded(
    "hosts",
    `the request is for ${requested === 1 ? "one host" : "two hosts"}, and the order ${license_key} for ${hosts === 1 ? "one host" : "two hosts"}`,
    hosts === 1
      ? `--hosts 1 binds the license to the leader alone; berth vendor order change ${license_key} --hosts 2 sells two`
      : "--hosts 1 binds the license to that host; berth license request --hosts 2 at the site requests two",
  );
}

const notSold = (key: string): DeskRefused =>
  new DeskRefused(
    `the order ${key} is for one host`,
    `berth vendor order change ${key} --hosts 2 sells two`,
  );

/** An order cannot be exceeded by choosing another license. */
function refuseOtherChoice(
  { license_key }: OrderEntry,
  { isNew, licenseId, renewLicenseId }: IssueOptions,
  { before }: JudgedUse,
): void {
  const id = renewLicenseId ?? licenseId;
  if (isNew && before !== null) {
    throw new DeskRefused(
      `this appliance already holds the order ${license_key}: license ${before.license_id}`,
      "omit --new; an additional license needs an order of its own: berth vendor order add",
    );
  }
  if (id === null || id === before?.license_id) return;
  throw new DeskRefused(
    `license ${id} is not one with which this appliance holds the order ${license_key}`,
    `berth vendor order show ${license_key} shows who holds it`,
  );
}
