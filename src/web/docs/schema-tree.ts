import type { Schema } from "./document.ts";

/** A part of a reply, as people read it. */
export interface SchemaNode {
  /** Empty for the whole. */
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

/** Of an object, of the objects of an array, and of whichever of several is one. */
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

function baseTypeOf({ type, format, items, anyOf, enum: words }: Schema): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(" or ");
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(" or ");
  if (type === "array") return `array of ${plural(items ?? {})}`;
  if (format === "date-time") return "time";
  return type ?? "anything";
}

function plural(schema: Schema): string {
  const type = typeOf(schema);
  return /^[a-z]+$/.test(type) && type !== "anything" ? `${type}s` : type;
}
