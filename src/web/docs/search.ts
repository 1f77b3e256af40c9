import type { Operation } from "./document.ts";

/** Operations that every word of the search occurs in: where it is, what it does, what it takes. */
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
