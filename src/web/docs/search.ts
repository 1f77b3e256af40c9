import type { Operation } from "./document.ts";

/** Operations that contain every word of the search in their path, texts, fields or refusals. */
export function searchOperations(operations: readonly Operation[], search: string): Operation[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((operation) => {
    const text = searchableText(operation);
    return words.every((word) => text.includes(word));
  });
}

const searchableText = ({
  method,
  path,
  summary,
  description,
  fields,
  refusals,
}: Operation): string =>
  [
    `${method} ${path} ${summary} ${description}`,
    ...fields.map(({ name }) => name),
    ...refusals.map(({ code, message }) => `${code} ${message}`),
  ]
    .join(" ")
    .toLowerCase();
