import { expect, test } from "bun:test";
import { Type, type TSchema } from "@sinclair/typebox";
import { SchemaWriter } from "../../../src/http/openapi/schema-writer.ts";
import { SchemaResolver, type Schema } from "../../../src/web/docs/document.ts";
import { schemaTreeOf } from "../../../src/web/docs/schema-tree.ts";

/** The schema as in the document: written by the same code, through JSON, references resolved. */
function writtenSchema(schema: TSchema): Schema {
  const writer = new SchemaWriter();
  const written = { schema: writer.write(schema), components: writer.components() };
  const parsed = JSON.parse(JSON.stringify(written)) as {
    schema: Schema;
    components: Record<string, Schema>;
  };
  return new SchemaResolver(parsed.components).resolve(parsed.schema);
}

const typeOf = (schema: TSchema): string => schemaTreeOf(writtenSchema(schema)).type;

test("schemaTreeOf describes types in words", () => {
  expect(typeOf(Type.String())).toBe("string");
  expect(typeOf(Type.String({ format: "date-time" }))).toBe("time");
  expect(typeOf(Type.Union([Type.Integer(), Type.Null()]))).toBe("integer or null");
  expect(typeOf(Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]))).toBe(
    "string or array of strings or null",
  );
  expect(typeOf(Type.Union([Type.Literal("ok"), Type.Literal("ended")]))).toBe('"ok" or "ended"');
  expect(typeOf(Type.Literal("ok"))).toBe('"ok"');
  expect(typeOf(Type.Array(Type.String()))).toBe("array of strings");
  expect(typeOf(Type.Array(Type.Object({})))).toBe("array of objects");
  expect(typeOf(Type.Array(Type.Unknown()))).toBe("array of anything");
  expect(typeOf(Type.Array(Type.Union([Type.Literal("a"), Type.Literal("b")])))).toBe(
    'array of "a" or "b"',
  );
});

test("schemaTreeOf lists the members of an object and marks optional ones", () => {
  const { type, children } = schemaTreeOf(
    writtenSchema(
      Type.Object({
        id: Type.Integer({ description: "Its number." }),
        warnings: Type.Optional(Type.Array(Type.String())),
      }),
    ),
  );
  expect(type).toBe("object");
  expect(children).toEqual([
    { name: "id", type: "integer", description: "Its number.", optional: false, children: [] },
    {
      name: "warnings",
      type: "array of strings",
      description: "",
      optional: true,
      children: [],
    },
  ]);
});

test("schemaTreeOf shows the members of objects in arrays and of nullable objects", () => {
  const inner = Type.Object({ code: Type.String() });
  const { children } = schemaTreeOf(
    writtenSchema(
      Type.Object({
        features: Type.Array(inner),
        certificate: Type.Union([inner, Type.Null()], { description: "Of TLS." }),
      }),
    ),
  );
  expect(
    children.map(({ type, children: parts }) => [type, parts.map(({ name }) => name)]),
  ).toEqual([
    ["array of objects", ["code"]],
    ["object or null", ["code"]],
  ]);
  expect(children[1]?.description).toBe("Of TLS.");
});

test("schemaTreeOf shows the members of a schema that is referenced by name", () => {
  const gap = Type.Object({ line: Type.Integer() }, { title: "Gap", description: "Lines." });
  const { children } = schemaTreeOf(
    writtenSchema(
      Type.Object(
        {
          one: gap,
          several: Type.Array(gap),
          maybe: Type.Union([gap, Type.Null()], { description: "The last one." }),
        },
        { title: "Gaps" },
      ),
    ),
  );
  expect(
    children.map(({ name, type, description, children: parts }) => [
      name,
      type,
      description,
      parts.map((part) => part.name),
    ]),
  ).toEqual([
    ["one", "object", "Lines.", ["line"]],
    ["several", "array of objects", "", ["line"]],
    ["maybe", "object or null", "The last one.", ["line"]],
  ]);
});
