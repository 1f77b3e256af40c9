import { computed } from "@preact/signals";
import type { VendorReply } from "../../http/routes/trust/trust.ts";
import type { OpenRequestReply } from "../../http/routes/requests/requests.ts";
import { admin, unwrapReply } from "../api.ts";
import { createSharedQuery, useSharedQuery } from "../use-query.ts";
import type { License } from "./license.ts";

interface LicenseData {
  readonly licenses: readonly License[];
  readonly vendors: readonly VendorReply[];
  readonly requests: readonly OpenRequestReply[];
}

const MIN_RELOAD_INTERVAL = 2_000;

const licenseData = createSharedQuery<LicenseData>(
  async (signal) => {
    const fetch = { signal };
    const [licenses, vendors, requests] = await Promise.all([
      unwrapReply(admin.licenses.get({ fetch })),
      unwrapReply(admin.trust.get({ fetch })),
      unwrapReply(admin.requests.get({ fetch })),
    ]);
    return { licenses, vendors, requests };
  },
  { minInterval: MIN_RELOAD_INTERVAL },
);

/** All installed licenses; null: not loaded yet. */
export const licenses = computed(() => licenseData.data.value?.licenses ?? null);

/** The vendors whose licenses are accepted; null: not loaded yet. */
export const trustedVendors = computed(() => licenseData.data.value?.vendors ?? null);

/** The requests that wait for the vendor's answer, newest first; null: not loaded yet. */
export const openRequests = computed(() => licenseData.data.value?.requests ?? null);

/** Why the last load failed; empty: it succeeded. */
export const licenseLoadError = licenseData.error;

export const loadLicenseData = (): Promise<void> => licenseData.refresh();

/** Keeps all of it up to date while it is shown. */
export const useLicenseData = (): void => void useSharedQuery(licenseData);

/** The newest open request for a product; undefined: none. */
export const findOpenRequest = (product: string): OpenRequestReply | undefined =>
  openRequests.value?.find((request) => request.product === product);
