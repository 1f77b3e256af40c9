import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { Schema } from "../../src/web/docs/document.ts";
import { treeOf } from "../../src/web/docs/tree.ts";

/** As the document has it: made by the same schemas, and through JSON. */
const plain = (schema: object): Schema => JSON.parse(JSON.stringify(schema)) as Schema;

const typeOf = (schema: object): string => treeOf(plain(schema)).type;

test("types are said in words", () => {
  expect(typeOf(Type.String())).toBe("string");
  expect(typeOf(Type.String({ format: "date-time" }))).toBe("time");
  expect(typeOf(Type.Union([Type.Integer(), Type.Null()]))).toBe("integer or null");
  expect(typeOf(Type.Union([Type.Literal("ok"), Type.Literal("ended")]))).toBe('"ok" or "ended"');
  expect(typeOf(Type.Literal(false))).toBe("false");
  expect(typeOf(Type.Array(Type.String()))).toBe("array of strings");
  expect(typeOf(Type.Array(Type.Object({})))).toBe("array of objects");
  expect(typeOf(Type.Array(Type.Unknown()))).toBe("array of anything");
  expect(typeOf(Type.Array(Type.Union([Type.Literal("a"), Type.Literal("b")])))).toBe(
    'array of "a" or "b"',
  );
});

test("an object's parts are told by name, with what they mean and whether they are always there", () => {
  const { type, children } = treeOf(
    plain(
      Type.Object({
        id: Type.Integer({ description: "Its number." }),
        troubles: Type.Optional(Type.Array(Type.String())),
      }),
    ),
  );
  expect(type).toBe("object");
  expect(children).toEqual([
    { name: "id", type: "integer", description: "Its number.", optional: false, children: [] },
    {
      name: "troubles",
      type: "array of strings",
      description: "",
      optional: true,
      children: [],
    },
  ]);
});

test("objects inside arrays, and those that may be null, show their parts", () => {
  const inner = Type.Object({ code: Type.String() });
  const { children } = treeOf(
    plain(
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
