import { expect, test } from "bun:test";
import { chooseProduct } from "../../src/cli/request-product.ts";

test.each<[string, string[], string[], string | null]>([
  ["nothing is installed or licensed", [], [], null],
  ["one product is licensed", [], ["cad"], "cad"],
  ["one product is licensed by several vendors", [], ["cad", "cad"], "cad"],
  ["several are licensed", [], ["cad", "cam"], null],
  ["one is installed, and it is the one licensed", ["cad"], ["cad"], "cad"],
  ["one is installed of several licensed", ["cam"], ["cad", "cam"], "cam"],
  ["one is installed in several licenses", ["cam", "cam"], ["cad", "cam"], "cam"],
  ["several are installed", ["cad", "cam"], ["cad", "cam"], null],
  ["one is installed that is not licensed any more", ["old"], ["cad", "cam"], "old"],
])("the product of a request that names none, when %s", (_when, installed, licensed, product) => {
  const chosen = chooseProduct(installed, licensed);
  expect(chosen.product).toBe(product);
  expect(chosen.note === null).toBe(product === null);
  const choices = new Set([...installed, ...licensed]);
  expect(chosen.warning === null).toBe(product !== null || choices.size === 0);
  if (chosen.warning !== null)
    for (const choice of choices) expect(chosen.warning).toContain(choice);
});
