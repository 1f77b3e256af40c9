import { computed, signal } from "@preact/signals";
import type { LicenseRequestReply } from "../../http/routes/requests/license-request.ts";
import { admin, unwrapReply, v4 } from "../api.ts";
import type { InstalledOutcome } from "../licenses/install-success.tsx";
import { licenses, loadLicenseData } from "../licenses/license-data.ts";
import type { License } from "../licenses/license.ts";
import { nextEndOf } from "./next-end.ts";
import { serverStatus } from "../status-stream.ts";

/** The request that was created last; kept while this page is open. */
export type CreatedRequest = LicenseRequestReply;

interface PairHosts {
  readonly names: readonly string[];
  readonly leader: string;
}

/** The state of the wizard; kept when the user visits another view. */
export const currentStep = signal(0);
export const productCode = signal("");
export const licenseKey = signal("");
/** What the site asks the vendor for; empty: nothing. */
export const wantedSlots = signal("");
export const wantedUntil = signal("");
export const note = signal("");
/** The names of the hosts of the pair, and which of them leads; null: one host serves alone. */
export const pairHosts = signal<PairHosts | null>(null);
/** For how many hosts of a pair the license is to be. */
export const wantedHosts = signal<"1" | "2">("2");
export const createdRequest = signal<CreatedRequest | null>(null);
/** The license that answered the request: the next visit starts a new request. */
export const installed = signal<InstalledOutcome | null>(null);

export const PRODUCT_STEP = 1;
const REQUEST_STEP = 2;
export const ANSWER_STEP = 4;
export const DONE_STEP = 5;

/** Starts a new request. A renewal is filled in from the installed license. */
export function startRequest(product: string, hasVendors: boolean): void {
  const renewed = findRenewedLicense(product);
  productCode.value = product;
  licenseKey.value = renewed?.license_key ?? "";
  wantedSlots.value = renewed === null ? "" : String(renewed.floating_users);
  wantedUntil.value = renewed === null ? "" : nextEndOf(renewed.validity_period, serverTime());
  wantedHosts.value = renewed !== null && renewed.hosts === undefined ? "1" : "2";
  note.value = "";
  void loadPairHosts();
  createdRequest.value = null;
  installed.value = null;
  currentStep.value = hasVendors ? PRODUCT_STEP : 0;
}

/** Without it, the request is for as many hosts as the installed license. */
async function loadPairHosts(): Promise<void> {
  const { pair } = await unwrapReply(admin.pair.get()).catch(() => ({ pair: null }));
  const leader = pair?.leader ?? null;
  pairHosts.value =
    pair === null || leader === null ? null : { names: pair.hosts.map(({ name }) => name), leader };
}

/** Whether the user can choose between one host and two. */
export const canChooseHosts = computed(() => pairHosts.value?.names.length === 2);

const serverTime = (): number => Date.parse(serverStatus.value?.now ?? new Date().toISOString());

/** The only license of the product; null: there is none, or the vendor has to know which. */
export function findRenewedLicense(product: string): License | null {
  const [only = null, ...others] = (licenses.value ?? []).filter(
    ({ product_details: { short_code } }) => short_code === product,
  );
  return others.length === 0 ? only : null;
}

export async function createRequest(): Promise<void> {
  const body = {
    product: productCode.value.trim(),
    license_key: licenseKey.value.trim(),
    wanted_slots: wantedSlots.value.trim(),
    wanted_until: wantedUntil.value.trim(),
    ...(canChooseHosts.value && { hosts: wantedHosts.value }),
    // The vendor's desk shows it within a line.
    note: note.value.trim().replaceAll(/\s+/g, " "),
  };
  // A program can also get the document as text.
  createdRequest.value = (await unwrapReply(v4.license.generate.post(body))) as CreatedRequest;
  currentStep.value = REQUEST_STEP;
  void loadLicenseData();
}
