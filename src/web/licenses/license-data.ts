import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import type { License } from "./license.ts";

/** All installed licenses; null: not loaded yet. */
export const licenses = signal<readonly License[] | null>(null);

/** The vendors whose licenses are accepted; null: not loaded yet. */
export const trustedVendors = signal<readonly VendorReply[] | null>(null);

/** Why the last load failed; empty: it succeeded. */
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

/** Keeps both up to date while they are shown: soon after a change, but not after each one. */
export function useLicenseData(): void {
  const seq = serverStatus.value?.storage.seq;
  useEffect(() => {
    const delay = Math.max(0, lastReadAt + MIN_RELOAD_INTERVAL - Date.now());
    const timer = setTimeout(() => void loadLicenseData(), licenses.value === null ? 0 : delay);
    return () => clearTimeout(timer);
  }, [seq]);
}
