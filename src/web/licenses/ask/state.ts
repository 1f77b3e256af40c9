import { signal } from "@preact/signals";
import { done, v4 } from "../../api.ts";
import { licenses } from "../known.ts";

/** A request that was made, as long as this page is open. */
export interface Made {
  readonly created_at: string;
  readonly product: string | null;
  readonly license_key: string | null;
  readonly filename: string;
  readonly payload: string;
  readonly cloud_payload: string | null;
  readonly cloud_filename: string | null;
  readonly warnings: readonly string[];
}

/** Where somebody is on the walk; kept when another view is looked at meanwhile. */
export const step = signal(0);
export const product = signal("");
export const key = signal("");
export const made = signal<Made | null>(null);
/** The walk came to its end: who comes again begins anew. */
export const answered = signal(false);

export const PRODUCT = 1;
const REQUEST = 2;
export const ANSWER = 4;

/** For a product, from the beginning. A renewal goes by the license key it was granted with. */
export function begin(of: string, hasVendors: boolean): void {
  const keys = (licenses.value ?? [])
    .filter(({ product_details: { short_code } }) => short_code === of)
    .map(({ license_key }) => license_key);
  product.value = of;
  key.value = keys.length === 1 ? (keys[0] ?? "") : "";
  made.value = null;
  answered.value = false;
  step.value = hasVendors ? PRODUCT : 0;
}

export async function makeRequest(): Promise<void> {
  const body = { product: product.value.trim(), license_key: key.value.trim() };
  made.value = (await done(v4.license.generate.post(body))) as Made;
  step.value = REQUEST;
}
