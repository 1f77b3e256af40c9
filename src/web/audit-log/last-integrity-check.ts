import { signal } from "@preact/signals";
import type { VerifyReply } from "../../http/running-server.ts";
import { admin, unwrapReply } from "../api.ts";

interface IntegrityCheckRun {
  readonly checkedAt: string;
  readonly found: VerifyReply;
}

/** The last time somebody asked; null: nobody has yet, and nothing may be claimed. */
export const lastIntegrityCheck = signal<IntegrityCheckRun | null>(null);

export async function runIntegrityCheck(): Promise<void> {
  lastIntegrityCheck.value = null;
  const found = await unwrapReply(admin.verify.get());
  lastIntegrityCheck.value = { checkedAt: new Date().toISOString(), found };
}
