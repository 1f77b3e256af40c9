import type { TSchema } from "@sinclair/typebox";
import { isDeepStrictEqual } from "node:util";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Writes schemas in the words of OpenAPI 3.0, which generators of clients share, and collects those
 * that have a title: each stands once among the components, under that name.
 */
export class SchemaWriter {
  readonly #named = new Map<string, Schema>();

  /** All that were written by name, in the order of their names. */
  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  write(schema: TSchema): Schema {
    if (schema.title === undefined) return this.#plain(schema);
    const written = this.#plain(schema);
    const known = this.#named.get(schema.title);
    if (known !== undefined && !isDeepStrictEqual(known, written)) {
      throw new Error(`two schemas have the title ${schema.title}`);
    }
    this.#named.set(schema.title, written);
    return { $ref: `#/components/schemas/${schema.title}` };
  }

  #plain(schema: TSchema): Schema {
    if (Array.isArray(schema["anyOf"])) return this.#choice(schema, schema["anyOf"] as TSchema[]);
    return { ...notesOf(schema), ...this.#shape(schema) };
  }

  #shape({ type, const: only, properties, required, items, patternProperties }: TSchema): Schema {
    if (typeof only === "string") return { type: "string", enum: [only] };
    // Of a flag or a number that is always the same, few generators can make anything.
    if (type === "integer" || typeof only === "number") return { type: "integer", format: "int64" };
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

  /** What may be null is `nullable`; a choice of words is an enum. */
  #choice(schema: TSchema, variants: readonly TSchema[]): Schema {
    const notes = notesOf(schema);
    const real = variants.filter(({ type }) => type !== "null");
    const nullable = real.length < variants.length && { nullable: true };
    const words = real.map(({ const: word }) => word as unknown);
    if (words.every((word) => typeof word === "string")) {
      return { ...notes, type: "string", enum: words, ...nullable };
    }
    const [first = {}, ...others] = real.map((variant) => this.write(variant));
    if (others.length > 0) return { ...notes, anyOf: [first, ...others], ...nullable };
    // Nothing may stand beside a reference.
    if ("$ref" in first) return { ...notes, allOf: [first], ...nullable };
    return { ...first, ...notes, ...nullable };
  }
}

const notesOf = ({ description, format, pattern, bytes, instant, needed }: TSchema): Schema => ({
  ...(description !== undefined && { description }),
  ...(format !== undefined && { format: format as string }),
  ...(pattern !== undefined && { pattern: pattern as string }),
  ...(instant === true && { format: "date-time" }),
  ...(bytes !== undefined && { "x-max-bytes": bytes as number }),
  ...(needed === true && { "x-required": true }),
});
