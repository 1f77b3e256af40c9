import type { Schema } from "./document.ts";

/** A part of a reply, for display. */
export interface SchemaNode {
  /** Empty for the root. */
  readonly name: string;
  /** In words: "integer or null", "array of objects". */
  readonly type: string;
  readonly description: string;
  /** Not in every reply. */
  readonly optional: boolean;
  readonly children: readonly SchemaNode[];
}

export const schemaTreeOf = (schema: Schema, name = "", optional = false): SchemaNode => ({
  name,
  type: typeOf(schema),
  description: schema.description ?? "",
  optional,
  children: childrenOf(schema),
});

/** The members of an object, of the objects in an array, or of all alternatives. */
function childrenOf(schema: Schema): SchemaNode[] {
  const { properties, required = [], items, anyOf = [] } = schema;
  if (properties !== undefined) {
    return Object.entries(properties).map(([name, part]) =>
      schemaTreeOf(part, name, !required.includes(name)),
    );
  }
  if (items !== undefined) return childrenOf(items);
  return anyOf.flatMap(childrenOf);
}

const typeOf = (schema: Schema): string =>
  schema.nullable === true ? `${baseTypeOf(schema)} or null` : baseTypeOf(schema);

function baseTypeOf({ type, format, items, anyOf, enum: values }: Schema): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(" or ");
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "array") return `array of ${plural(items ?? {})}`;
  if (format === "date-time") return "time";
  return type ?? "anything";
}

function plural(schema: Schema): string {
  const type = typeOf(schema);
  return /^[a-z]+$/.test(type) && type !== "anything" ? `${type}s` : type;
}
