import { signal } from "@preact/signals";
import type { VerifyReply } from "../../http/running-server.ts";
import { admin, unwrapReply } from "../api.ts";

interface IntegrityCheckRun {
  readonly checkedAt: string;
  readonly result: VerifyReply;
}

/** The last check of this page; null: none yet. */
export const lastIntegrityCheck = signal<IntegrityCheckRun | null>(null);

export async function runIntegrityCheck(): Promise<void> {
  lastIntegrityCheck.value = null;
  const result = await unwrapReply(admin.verify.get());
  lastIntegrityCheck.value = { checkedAt: new Date().toISOString(), result };
}
