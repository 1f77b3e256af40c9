import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** The first field of a value that does not fit its schema. */
export type FieldFault =
  | { readonly wrong: "value"; readonly path: string; readonly expected: string; value: unknown }
  | { readonly wrong: "unknown"; readonly path: string; readonly known: readonly string[] }
  | { readonly wrong: "missing"; readonly path: string; readonly expected: string };

/**
 * Names the wrong field and what it must be, which a validator's yes or no does not. Supports the
 * constructs that schemas of terms use: objects, lists, "T or null", and leaves with a description.
 */
export function findFieldFault(schema: TSchema, value: unknown, path = ""): FieldFault | null {
  const orNull = schemaBesideNull(schema);
  if (orNull !== null) return value === null ? null : findFieldFault(orNull, value, path);
  if (schema["type"] === "object") return objectFault(schema, value, path);
  if (schema["type"] === "array" && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const fault = findFieldFault(schema["items"] as TSchema, item, `${path}[${index}]`);
      if (fault !== null) return fault;
    }
  }
  if (Value.Check(schema, value)) return null;
  return { wrong: "value", path, expected: expectedBy(schema), value };
}

function objectFault(schema: TSchema, value: unknown, path: string): FieldFault | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { wrong: "value", path, expected: expectedBy(schema), value };
  }
  const properties = schema["properties"] as Readonly<Record<string, TSchema>>;
  const pathOf = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const known = Object.keys(properties);
  for (const name of (schema["required"] ?? []) as readonly string[]) {
    if (Object.hasOwn(value, name)) continue;
    const expected = expectedBy(properties[name] ?? schema);
    return { wrong: "missing", path: pathOf(name), expected };
  }
  for (const [name, member] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) return { wrong: "unknown", path: pathOf(name), known };
    const fault = findFieldFault(property, member, pathOf(name));
    if (fault !== null) return fault;
  }
  return null;
}

function schemaBesideNull(schema: TSchema): TSchema | null {
  const choices = (schema["anyOf"] ?? []) as readonly TSchema[];
  const others = choices.filter(({ type }) => type !== "null");
  return others.length < choices.length ? (others[0] ?? null) : null;
}

const expectedBy = (schema: TSchema): string =>
  schema.description ?? schemaBesideNull(schema)?.description ?? "an object";

/** The fault as a message; `suggest` finds the known name closest to an unknown one. */
export function describeFieldFault(
  fault: FieldFault,
  suggest: (name: string, known: readonly string[]) => string | null = () => null,
): string {
  const { path } = fault;
  if (fault.wrong === "missing") return `${path} is required: ${fault.expected}`;
  if (fault.wrong === "value") {
    const subject = path === "" ? "the value" : path;
    return `${subject} must be ${fault.expected}, not ${abbreviate(fault.value)}`;
  }
  const suggestion = suggest(path.split(".").at(-1) ?? path, fault.known);
  const help =
    suggestion === null ? ` (fields: ${fault.known.join(", ")})` : `: did you mean ${suggestion}?`;
  return `unknown field ${path}${help}`;
}

const MAX_SHOWN_LENGTH = 60;

function abbreviate(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
