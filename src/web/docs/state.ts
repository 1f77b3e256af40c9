import { signal } from "@preact/signals";
import type { OpenApiDocument, Operation } from "./document.ts";
import { operationsIn } from "./document.ts";

/** Null: not loaded yet. */
export const openApiDocument = signal<OpenApiDocument | null>(null);
export const operations = signal<readonly Operation[]>([]);

/** The id of the selected operation; any other value shows the introduction. */
export const selectedOperationId = signal(location.hash.slice(1));

addEventListener("hashchange", () => {
  selectedOperationId.value = location.hash.slice(1);
});

/** Saves by script: the server refuses navigation to anything but its pages, so a link fails. */
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
  const document = (await response.json()) as OpenApiDocument & { readonly message?: string };
  if (!response.ok) throw new Error(document.message);
  operations.value = operationsIn(document);
  openApiDocument.value = document;
}
