import type { Static, TObject } from "@sinclair/typebox";
import { matchFields } from "./fields.ts";

/**
 * The query's parameters under the names of the schema, whatever their case; the last of two
 * counts.
 */
export function readQuery<S extends TObject>(schema: S, request: Request): Partial<Static<S>> {
  const start = request.url.indexOf("?");
  if (start < 0) return {};
  const raw: Record<string, unknown> = Object.create(null);
  for (const [key, value] of new URLSearchParams(request.url.slice(start + 1))) raw[key] = value;
  return matchFields(schema, raw);
}
