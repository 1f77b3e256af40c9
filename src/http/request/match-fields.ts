import type { TObject } from "@sinclair/typebox";
import type { FieldOptions } from "./fields.ts";
import { addIgnoredFieldsHeader, type ReplyHeaders } from "./ignored-fields.ts";

/** A field of a schema, as a request may contain it. */
interface SchemaField {
  readonly name: string;
  readonly tolerates: FieldOptions["tolerates"];
}

/** The fields of a schema, listed once and not with every request. */
export const listFields = ({ properties }: TObject): readonly SchemaField[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    tolerates: schema["tolerates"] as FieldOptions["tolerates"],
  }));

/**
 * Converts a body to the names and types of its schema. Unknown keys are dropped, and named in a
 * header of the reply.
 */
export function matchFields(
  schemaFields: readonly SchemaField[],
  raw: Readonly<Record<string, unknown>>,
  headers: ReplyHeaders,
): object {
  const matched: Record<string, unknown> = Object.create(null);
  let exactCount = 0;
  for (const schemaField of schemaFields) {
    const { name } = schemaField;
    const value = raw[name];
    if (value == null || !Object.hasOwn(raw, name)) continue;
    exactCount += 1;
    matched[name] = asText(schemaField, value);
  }
  const keys = Object.keys(raw);
  if (exactCount < keys.length) matchOtherKeys(schemaFields, raw, keys, matched, headers);
  return matched;
}

/** Null and absent are the same, so the remaining keys can be names in another case, or unknown. */
function matchOtherKeys(
  schemaFields: readonly SchemaField[],
  raw: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  matched: Record<string, unknown>,
  headers: ReplyHeaders,
): void {
  const usedKeys = new Set(Object.keys(matched));
  for (const schemaField of schemaFields) {
    const { name } = schemaField;
    const variants = keys.filter((key) => key.toLowerCase() === name.toLowerCase());
    for (const key of variants) if (raw[key] === null) usedKeys.add(key);
    if (name in matched) continue;
    const variant = variants.find((key) => raw[key] !== null);
    if (variant === undefined) continue;
    usedKeys.add(variant);
    matched[name] = asText(schemaField, raw[variant]);
  }
  if (usedKeys.size < keys.length) {
    addIgnoredFieldsHeader(
      headers,
      keys.filter((key) => !usedKeys.has(key)),
    );
  }
}

function asText({ tolerates }: SchemaField, value: unknown): unknown {
  if (tolerates === "object" && typeof value === "object") return JSON.stringify(value);
  const isConvertible =
    (tolerates === "integer" && typeof value === "number" && Number.isInteger(value)) ||
    (tolerates === "boolean" && typeof value === "boolean");
  return isConvertible ? String(value) : value;
}
