import { Type, type Static, type TObject } from "@sinclair/typebox";
import { listFields, matchFields } from "./match-fields.ts";
import type { ReplyHeaders } from "./ignored-fields.ts";

export const NO_PARAMETERS = Type.Object({});

/**
 * The query's parameters under the names of the schema, which are matched without regard to case.
 * Of a repeated parameter the last value counts.
 */
export function readQuery<S extends TObject>(
  schema: S,
  request: Request,
  headers: ReplyHeaders,
): Partial<Static<S>> {
  const start = request.url.indexOf("?");
  if (start < 0) return {};
  const raw: Record<string, unknown> = Object.create(null);
  for (const [key, value] of new URLSearchParams(request.url.slice(start + 1))) raw[key] = value;
  return matchFields(listFields(schema), raw, headers);
}

/** For an operation without query parameters: the reply names all of them as ignored. */
export const ignoreQuery = (request: Request, headers: ReplyHeaders): void => {
  readQuery(NO_PARAMETERS, request, headers);
};
