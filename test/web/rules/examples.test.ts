import { describe, expect, test } from "bun:test";
import { parseRules } from "../../../src/rules/parse-rules.ts";
import { EXAMPLES, insertExample } from "../../../src/web/rules/examples.ts";

const PRODUCTS = ["CAD", 'a "quoted" name\\'];

describe.each(PRODUCTS)("examples of rules for product %s", (product) => {
  test.each(EXAMPLES.map((example) => [example.name, example] as const))(
    "“%s” has no finding, and rules for the product",
    (_name, { toml }) => {
      const { rules, findings } = parseRules(toml(product));
      expect(findings).toEqual([]);
      expect(rules?.pools.map((pool) => pool.product)).toEqual([product]);
    },
  );

  test("have no finding when all of them are inserted one after another", () => {
    const text = EXAMPLES.reduce((before, one) => insertExample(before, one, product), "");
    const { rules, findings } = parseRules(text);
    expect(findings).toEqual([]);
    expect(rules?.pools.length).toBe(1);
  });
});

test("an example is inserted after an empty line, and alone into an empty text", () => {
  const [example] = EXAMPLES;
  if (example === undefined) throw new Error("there are no examples");
  const toml = example.toml("CAD");
  expect(insertExample("", example, "CAD")).toBe(toml);
  expect(insertExample("# mine\n\n\n", example, "CAD")).toBe(`# mine\n\n${toml}`);
});
