import type { TSchema } from "@sinclair/typebox";
import { isDeepStrictEqual } from "node:util";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Converts schemas to OpenAPI 3.0, which all client generators support. A schema with a title is
 * collected as a component under that name, and referred to elsewhere.
 */
export class SchemaWriter {
  readonly #components = new Map<string, Schema>();

  /** The collected schemas, sorted by name. */
  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  write(schema: TSchema): Schema {
    if (schema.title === undefined) return this.#convert(schema);
    const converted = this.#convert(schema);
    const existing = this.#components.get(schema.title);
    if (existing !== undefined && !isDeepStrictEqual(existing, converted)) {
      throw new Error(`two schemas have the title ${schema.title}`);
    }
    this.#components.set(schema.title, converted);
    return { $ref: `#/components/schemas/${schema.title}` };
  }

  #convert(schema: TSchema): Schema {
    if (Array.isArray(schema["anyOf"]))
      return this.#convertUnion(schema, schema["anyOf"] as TSchema[]);
    const { documentedAs = schema } = schema as { readonly documentedAs?: TSchema };
    return { ...notesOf(schema), ...this.#convertType(documentedAs) };
  }

  #convertType({
    type,
    const: constant,
    properties,
    required,
    items,
    patternProperties,
  }: TSchema): Schema {
    if (typeof constant === "string") return { type: "string", enum: [constant] };
    // Few generators support a boolean or a number with a constant value.
    if (type === "integer" || typeof constant === "number")
      return { type: "integer", format: "int64" };
    if (type === "array") return { type, items: this.write(items as TSchema) };
    if (patternProperties !== undefined) {
      const [values = {}] = Object.values(patternProperties as Record<string, TSchema>);
      return { type: "object", additionalProperties: this.write(values as TSchema) };
    }
    if (type !== "object") return type === undefined ? {} : { type };
    const fields = Object.entries(properties as Record<string, TSchema>);
    return {
      type,
      ...(required !== undefined && { required: required as readonly string[] }),
      properties: Object.fromEntries(fields.map(([name, field]) => [name, this.write(field)])),
    };
  }

  /** A union with null becomes `nullable`; a union of strings becomes an enum. */
  #convertUnion(schema: TSchema, variants: readonly TSchema[]): Schema {
    const notes = notesOf(schema);
    const nonNull = variants.filter(({ type }) => type !== "null");
    const nullable = nonNull.length < variants.length && { nullable: true };
    const constants = nonNull.map(({ const: constant }) => constant as unknown);
    if (constants.every((constant) => typeof constant === "string")) {
      return { ...notes, type: "string", enum: constants, ...nullable };
    }
    const written = nonNull.map((variant) => this.write(variant));
    const last = written.pop() ?? {};
    // `nullable` counts only beside `type`, and OpenAPI 3.0 allows no other key beside $ref.
    if (written.length > 0) return { ...notes, anyOf: [...written, { ...last, ...nullable }] };
    if ("$ref" in last) return { ...notes, ...this.#typeOf(last), allOf: [last], ...nullable };
    return { ...last, ...notes, ...nullable };
  }

  #typeOf({ $ref: reference }: Schema): Schema {
    const { type } = this.#components.get(String(reference).split("/").at(-1) ?? "") ?? {};
    return { type };
  }
}

const notesOf = ({
  description,
  format,
  pattern,
  bytes,
  instant,
  needed,
  takesNull,
}: TSchema): Schema => ({
  ...(description !== undefined && { description }),
  ...(format !== undefined && { format: format as string }),
  ...(pattern !== undefined && { pattern: pattern as string }),
  ...(instant === true && { format: "date-time" }),
  ...(bytes !== undefined && { "x-max-bytes": bytes as number }),
  ...(needed === true && { "x-required": true }),
  ...(takesNull === true && { nullable: true }),
});
