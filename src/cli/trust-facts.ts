import type { VendorReply } from "../http/routes/trust.ts";

/** What a trust document says and changes: the rows of a table for a person to compare. */
export function trustFacts(shown: VendorReply, known: VendorReply | null): string[][] {
  const before = known ?? shown;
  const added = shown.products.filter((product) => !before.products.includes(product));
  const removed = before.products.filter((product) => !shown.products.includes(product));
  return [
    ["vendor", changed(shown.name, before.name)],
    [
      "products",
      [shown.products.join(", "), ...list("added", added), ...list("removed", removed)].join("; "),
    ],
    ["fingerprint", changed(shown.fingerprint, before.fingerprint)],
    ["version", changed(String(shown.version), String(before.version))],
    ...(shown.retired ?? []).map(({ key, from }) => ["retired", `${key} (${retiredText(from)})`]),
  ];
}

/** A day is enough where it begins with one. */
const retiredText = (from: string | null): string =>
  from === null ? "immediately" : `from ${from.replace(/T00:00:00\.000Z$/, "")}`;

const changed = (now: string, before: string): string =>
  now === before ? now : `${now} (was ${before})`;

const list = (word: string, products: readonly string[]): string[] =>
  products.length === 0 ? [] : [`${word}: ${products.join(", ")}`];
