import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done, sentenceOf } from "../api.ts";
import { status } from "../live.ts";
import type { License } from "./license.ts";

/** Every license installed, as the server last told; null: it has not yet. */
export const licenses = signal<readonly License[] | null>(null);

/** Vendors whose licenses are accepted, likewise. */
export const vendors = signal<readonly VendorReply[] | null>(null);

/** Why they could not be read; empty: they could. */
export const unread = signal("");

const PAUSE = 2_000;
let lastRead = 0;

export async function readKnown(): Promise<void> {
  lastRead = Date.now();
  try {
    [licenses.value, vendors.value] = await Promise.all([
      done(admin.licenses.get()),
      done(admin.trust.get()),
    ]);
    unread.value = "";
  } catch (error) {
    unread.value = sentenceOf(error);
  }
}

/** Keeps both up to date while they are looked at: soon after a change, but not after each one. */
export function useKnown(): void {
  const seq = status.value?.storage.seq;
  useEffect(() => {
    const wait = Math.max(0, lastRead + PAUSE - Date.now());
    const due = setTimeout(() => void readKnown(), licenses.value === null ? 0 : wait);
    return () => clearTimeout(due);
  }, [seq]);
}
