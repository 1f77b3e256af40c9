import type { VendorReply } from "../../http/routes/trust/trust.ts";

/** Table rows that show a trust document and what it changes, for the operator to compare. */
export function trustFacts(offered: VendorReply, current: VendorReply | null): string[][] {
  const before = current ?? offered;
  const added = offered.products.filter((product) => !before.products.includes(product));
  const removed = before.products.filter((product) => !offered.products.includes(product));
  return [
    ["vendor", formatChange(offered.name, before.name)],
    [
      "products",
      [
        offered.products.join(", "),
        ...formatProducts("added", added),
        ...formatProducts("removed", removed),
      ].join("; "),
    ],
    ["fingerprint", formatChange(offered.fingerprint, before.fingerprint)],
    ["version", formatChange(String(offered.version), String(before.version))],
    ...offered.retired.map((key) => ["retired key", key]),
  ];
}

const formatChange = (now: string, before: string): string =>
  now === before ? now : `${now} (was ${before})`;

const formatProducts = (word: string, products: readonly string[]): string[] =>
  products.length === 0 ? [] : [`${word}: ${products.join(", ")}`];
