import { signal } from "@preact/signals";
import type { VerifyReply } from "../../http/running-server.ts";
import { admin, done } from "../api.ts";

interface Checked {
  readonly at: string;
  readonly found: VerifyReply;
}

/** The last time somebody asked; null: nobody has yet, and nothing may be claimed. */
export const checked = signal<Checked | null>(null);

export async function check(): Promise<void> {
  checked.value = null;
  const found = await done(admin.verify.get());
  checked.value = { at: new Date().toISOString(), found };
}
