// Compares a value with a schema of the OpenAPI document, as a strict client would: every required
// field exists, every field is described, and each has the documented type.
import { dereference, type JsonObject } from "./openapi-rules.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly [Schema];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
}

/** Every difference between the value and the schema, with its path; none: it matches. */
export function findMismatches(
  document: JsonObject,
  schema: unknown,
  value: unknown,
  path = "",
): string[] {
  const resolved = dereference(document, schema) as Schema;
  const { type, nullable, anyOf, allOf } = resolved;
  if (value === null && nullable === true) return [];
  if (allOf !== undefined) return findMismatches(document, allOf[0], value, path);
  if (anyOf !== undefined) {
    const mismatches = anyOf.map((option) => findMismatches(document, option, value, path));
    return mismatches.some((list) => list.length === 0) ? [] : mismatches.flat();
  }
  if (type === undefined) return [];
  if (!hasType(type, value)) return [`${path}: ${JSON.stringify(value)} is not of type ${type}`];
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown, index) =>
      findMismatches(document, resolved.items, item, `${path}[${index}]`),
    );
  }
  if (type === "object") return findFieldMismatches(document, resolved, value as JsonObject, path);
  return findTextMismatches(resolved, value, path);
}

function findFieldMismatches(
  document: JsonObject,
  schema: Schema,
  value: JsonObject,
  path: string,
): string[] {
  const { required = [], properties = {}, additionalProperties } = schema;
  const missing = required.filter((name) => !(name in value));
  return [
    ...missing.map((name) => `${path}.${name}: is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const fieldSchema = properties[name] ?? additionalProperties;
      if (fieldSchema === undefined) return [`${path}.${name}: is not described`];
      return findMismatches(document, fieldSchema, inner, `${path}.${name}`);
    }),
  ];
}

function findTextMismatches(schema: Schema, value: unknown, path: string): string[] {
  const { enum: values, format } = schema;
  const prefix = `${path}: ${JSON.stringify(value)}`;
  return [
    ...(values?.includes(String(value)) === false
      ? [`${prefix} is not one of ${values.join()}`]
      : []),
    ...(format === "date-time" && !TIME.test(String(value)) ? [`${prefix} is not a time`] : []),
  ];
}

function hasType(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object")
    return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}
