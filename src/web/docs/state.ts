import { signal } from "@preact/signals";
import type { OpenApiDocument, Operation } from "./document.ts";
import { operationsIn } from "./document.ts";

/** Null: not read yet. */
export const openApiDocument = signal<OpenApiDocument | null>(null);
export const operations = signal<readonly Operation[]>([]);

/** The operation that is shown, by its id; anything else: how to call. */
export const selectedOperationId = signal(location.hash.slice(1));

addEventListener("hashchange", () => {
  selectedOperationId.value = location.hash.slice(1);
});

/** To a file: a link would be a visit, and the server takes visits to its pages only. */
export function saveDocument(): void {
  const text = JSON.stringify(openApiDocument.value, null, 2);
  const link = globalThis.document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "berth-openapi.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function loadDocument(): Promise<void> {
  const response = await fetch("/api/v4/openapi.json", { credentials: "omit" });
  const read = (await response.json()) as OpenApiDocument & { readonly message?: string };
  if (!response.ok) throw new Error(read.message);
  operations.value = operationsIn(read);
  openApiDocument.value = read;
}
