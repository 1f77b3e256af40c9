// Orders at a vendor's desk, and what the desk answers by itself to requests under their keys.
import { expect, onTestFinished } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  answerAt,
  type Answered,
  type Answering,
} from "../../src/desk/answering/answer-documents.ts";
import type { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issuing/issue.ts";
import { USUAL_OPTIONS, type IssueOptions } from "../../src/desk/issuing/issue-options.ts";
import { receiveReceipt } from "../../src/desk/issuing/receive-receipt.ts";
import type { IssuedEntry, OrderEntry } from "../../src/desk/ledger/ledger-entries.ts";
import { addOrders, USUAL_SIZE, type NewOrder } from "../../src/desk/orders/orders.ts";
import type { Instant } from "../../src/domain/time.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import type { LicenseRequest } from "../../src/license/requests/request.ts";
import { openAppliance, type Appliance, type ApplianceOptions } from "./appliance.ts";
import { unwrap } from "./licensed-store.ts";
import { refusal } from "./desk-refusal.ts";
import { MONDAY } from "./scenario.ts";
import type { AtEnd } from "./temp-folder.ts";

/** Three slots of `sim` without an end, for one appliance of Initech, unless a test differs. */
export const NEW_ORDER: NewOrder = {
  ...USUAL_SIZE,
  customer: "Initech",
  licenseKey: null,
  terms: { product: "sim", slots: 3, valid_until: null },
};

export async function addOrder(
  desk: Desk,
  { terms, ...differing }: Partial<NewOrder> = {},
  now: Instant = MONDAY,
): Promise<OrderEntry> {
  const wanted = { ...NEW_ORDER, ...differing, terms: { ...NEW_ORDER.terms, ...terms } };
  const [order] = await addOrders(desk, [wanted], now);
  if (order === undefined) throw new Error("no order was added");
  return order;
}

/** Opens another site that trusts the desk. */
export async function openSiteOf(
  desk: Desk,
  options: ApplianceOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Appliance> {
  const site = await openAppliance({ licenses: {}, ...options }, atEnd);
  unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "test"));
  return site;
}

type AnsweredRequest = Awaited<ReturnType<Answering["request"]>>;

/** What the desk does with a request of its own accord. */
export const answer = (
  desk: Desk,
  request: LicenseRequest,
  now: Instant = MONDAY,
): Promise<AnsweredRequest> => answerAt(desk, desk, now).request(request);

/** The same for a request that the desk must answer, and installs the license. */
export async function answerAndInstall(
  desk: Desk,
  site: Appliance,
  request: LicenseRequest,
  now: Instant = MONDAY,
): Promise<AnsweredRequest> {
  const answered = await answer(desk, request, now);
  const { document = null } = answered;
  if (document === null) throw new Error(`not answered: ${JSON.stringify(answered)}`);
  unwrap(await site.licensing.installLicense(document, "test"));
  return answered;
}

/** What a person issues for a request under the key of an order, whose terms are those of it. */
export const issueByHand = (
  desk: Desk,
  request: LicenseRequest | null,
  differing: Partial<IssueOptions> = {},
): Promise<IssuedEntry> =>
  issueLicense(desk, { ...USUAL_OPTIONS, now: MONDAY, request, ...differing });

/** Why a person must decide, as codes. */
export const codesOf = ({ obstacles = [] }: Partial<Pick<Answered, "obstacles">>): string[] =>
  obstacles.map(({ code }) => code);

/** The site returns a license, also while slots are borrowed, and the desk records it. */
export async function returnLicense(
  desk: Desk,
  site: Appliance,
  licenseId: number,
  now: Instant = MONDAY,
): Promise<void> {
  const receipt = unwrap(await site.licensing.removeLicense(licenseId, true, "test"));
  await receiveReceipt(desk, receipt, now);
}

/** A machine with five components: three of them make it the same one. */
export const machineOf = (name: string): HardwareComponent[] => [
  { kind: "machine_id", value: `machine ${name}` },
  { kind: "board_serial", value: `board ${name}` },
  { kind: "mac", value: `52:54:00:00:00:01 ${name}` },
  { kind: "mac", value: `52:54:00:00:00:02 ${name}` },
  { kind: "mac", value: `52:54:00:00:00:03 ${name}` },
];

export const readLedgerText = (folder: string): string =>
  readFileSync(join(folder, "ledger.jsonl"), "utf8");

/** The message and the hint with which the desk refuses an attempt that writes nothing. */
export async function refusalAt(folder: string, attempt: () => Promise<unknown>): Promise<string> {
  const before = readLedgerText(folder);
  const text = await refusal(attempt());
  expect(readLedgerText(folder)).toBe(before);
  return text;
}
