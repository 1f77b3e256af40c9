import { expect, test } from "bun:test";
import { chooseProduct } from "../../../src/cli/client/request-product.ts";

test.each<[string, string[], string[], string | null]>([
  ["nothing is installed or licensed", [], [], null],
  ["one product is licensed", [], ["cad"], "cad"],
  ["one product is licensed by several vendors", [], ["cad", "cad"], "cad"],
  ["several products are licensed", [], ["cad", "cam"], null],
  ["the installed product is the only licensed one", ["cad"], ["cad"], "cad"],
  ["one of several licensed products is installed", ["cam"], ["cad", "cam"], "cam"],
  ["one product is installed in several licenses", ["cam", "cam"], ["cad", "cam"], "cam"],
  ["several products are installed", ["cad", "cam"], ["cad", "cam"], null],
  ["the installed product is no longer licensed", ["old"], ["cad", "cam"], "old"],
])(
  "chooseProduct decides for a request without a product when %s",
  (_when, installed, licensed, product) => {
    const chosen = chooseProduct(installed, licensed);
    expect(chosen.product).toBe(product);
    expect(chosen.note === null).toBe(product === null);
    const choices = new Set([...installed, ...licensed]);
    expect(chosen.warning === null).toBe(product !== null || choices.size === 0);
    if (chosen.warning !== null)
      for (const choice of choices) expect(chosen.warning).toContain(choice);
  },
);
