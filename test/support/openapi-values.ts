// Holds a value against a schema of the OpenAPI document, as a strict client would: every required
// field is there, every field is described, and each has the type that the document promises.
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

/** Each place where the value is not as the schema says; none: it is. */
export function findMismatches(
  document: JsonObject,
  schema: unknown,
  value: unknown,
  place = "",
): string[] {
  const found = dereference(document, schema) as Schema;
  const { type, nullable, anyOf, allOf } = found;
  if (value === null && nullable === true) return [];
  if (allOf !== undefined) return findMismatches(document, allOf[0], value, place);
  if (anyOf !== undefined) {
    const tried = anyOf.map((one) => findMismatches(document, one, value, place));
    return tried.some((list) => list.length === 0) ? [] : tried.flat();
  }
  if (type === undefined) return [];
  if (!hasType(type, value)) return [`${place}: ${JSON.stringify(value)} is not of type ${type}`];
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, index) =>
      findMismatches(document, found.items, one, `${place}[${index}]`),
    );
  }
  if (type === "object") return findFieldMismatches(document, found, value as JsonObject, place);
  return findTextMismatches(found, value, place);
}

function findFieldMismatches(
  document: JsonObject,
  schema: Schema,
  value: JsonObject,
  place: string,
): string[] {
  const { required = [], properties = {}, additionalProperties } = schema;
  const absent = required.filter((name) => !(name in value));
  return [
    ...absent.map((name) => `${place}.${name}: is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const described = properties[name] ?? additionalProperties;
      if (described === undefined) return [`${place}.${name}: is not described`];
      return findMismatches(document, described, inner, `${place}.${name}`);
    }),
  ];
}

function findTextMismatches(schema: Schema, value: unknown, place: string): string[] {
  const { enum: words, format } = schema;
  const said = `${place}: ${JSON.stringify(value)}`;
  return [
    ...(words?.includes(String(value)) === false ? [`${said} is not one of ${words.join()}`] : []),
    ...(format === "date-time" && !TIME.test(String(value)) ? [`${said} is not a time`] : []),
  ];
}

function hasType(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object")
    return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}
