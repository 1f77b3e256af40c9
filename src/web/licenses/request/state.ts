import { signal } from "@preact/signals";
import { unwrapReply, v4 } from "../../api.ts";
import { licenses } from "../license-data.ts";

/** The request that was created last; kept while this page is open. */
export interface CreatedRequest {
  readonly created_at: string;
  readonly product: string | null;
  readonly license_key: string | null;
  readonly filename: string;
  readonly payload: string;
  readonly cloud_payload: string | null;
  readonly cloud_filename: string | null;
  readonly warnings: readonly string[];
}

/** The state of the wizard; kept when the user visits another view. */
export const currentStep = signal(0);
export const productCode = signal("");
export const licenseKey = signal("");
export const createdRequest = signal<CreatedRequest | null>(null);
/** The license was installed: the next visit starts a new request. */
export const isAnswered = signal(false);

export const PRODUCT_STEP = 1;
const REQUEST_STEP = 2;
export const ANSWER_STEP = 4;

/** Starts a new request. A renewal uses the license key of the installed license. */
export function startRequest(product: string, hasVendors: boolean): void {
  const keys = (licenses.value ?? [])
    .filter(({ product_details: { short_code } }) => short_code === product)
    .map(({ license_key }) => license_key);
  productCode.value = product;
  licenseKey.value = keys.length === 1 ? (keys[0] ?? "") : "";
  createdRequest.value = null;
  isAnswered.value = false;
  currentStep.value = hasVendors ? PRODUCT_STEP : 0;
}

export async function createRequest(): Promise<void> {
  const body = { product: productCode.value.trim(), license_key: licenseKey.value.trim() };
  createdRequest.value = (await unwrapReply(v4.license.generate.post(body))) as CreatedRequest;
  currentStep.value = REQUEST_STEP;
}
