import { signal } from "@preact/signals";
import type { Document, Operation } from "./document.ts";
import { operationsIn } from "./document.ts";

/** Null: not read yet. */
export const document = signal<Document | null>(null);
export const operations = signal<readonly Operation[]>([]);

/** The operation that is shown, by its id; anything else: how to call. */
export const chosen = signal(location.hash.slice(1));

addEventListener("hashchange", () => {
  chosen.value = location.hash.slice(1);
});

/** To a file: a link would be a visit, and the server takes visits to its pages only. */
export function saveDocument(): void {
  const text = JSON.stringify(document.value, null, 2);
  const link = globalThis.document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "berth-openapi.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function readDocument(): Promise<void> {
  const response = await fetch("/api/v4/openapi.json", { credentials: "omit" });
  const read = (await response.json()) as Document & { readonly message?: string };
  if (!response.ok) throw new Error(read.message);
  operations.value = operationsIn(read);
  document.value = read;
}
