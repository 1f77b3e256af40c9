import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import type { License } from "./license.ts";

/** Every license installed, as the server last told; null: it has not yet. */
export const licenses = signal<readonly License[] | null>(null);

/** Vendors whose licenses are accepted, likewise. */
export const trustedVendors = signal<readonly VendorReply[] | null>(null);

/** Why they could not be read; empty: they could. */
export const licenseLoadError = signal("");

const MIN_RELOAD_INTERVAL = 2_000;
let lastReadAt = 0;

export async function loadLicenseData(): Promise<void> {
  lastReadAt = Date.now();
  try {
    [licenses.value, trustedVendors.value] = await Promise.all([
      unwrapReply(admin.licenses.get()),
      unwrapReply(admin.trust.get()),
    ]);
    licenseLoadError.value = "";
  } catch (error) {
    licenseLoadError.value = errorMessageOf(error);
  }
}

/** Keeps both up to date while they are looked at: soon after a change, but not after each one. */
export function useLicenseData(): void {
  const seq = serverStatus.value?.storage.seq;
  useEffect(() => {
    const wait = Math.max(0, lastReadAt + MIN_RELOAD_INTERVAL - Date.now());
    const due = setTimeout(() => void loadLicenseData(), licenses.value === null ? 0 : wait);
    return () => clearTimeout(due);
  }, [seq]);
}
