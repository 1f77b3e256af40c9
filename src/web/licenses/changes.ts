import { number } from "../format.ts";
import { changes as say } from "../texts/adding.ts";
import type { License } from "./license.ts";
import { borrowOf, consumptionOf, featureOf, validityOf } from "./terms.ts";

/** What a renewal changed, line by line, for whoever asked for it. */
export function changesOf(before: License, after: License): string[] {
  return [
    changed(say.slots, number(before.floating_users), number(after.floating_users)),
    changed(say.valid, validityOf(before), validityOf(after)),
    changed(say.borrow, borrowOf(before), borrowOf(after)),
    changed(say.consumption, countingOf(before), countingOf(after)),
    ...featuresOf(before, after),
  ].filter((line) => line !== null);
}

const changed = (what: string, from: string, to: string): string | null =>
  from === to ? null : say.change(what, from, to);

const countingOf = (license: License): string => consumptionOf(license, license.max_consumptions);

function featuresOf(before: License, after: License): (string | null)[] {
  const [old, now] = [byCode(before), byCode(after)];
  return [
    ...[...now].map(([code, text]) => {
      const was = old.get(code);
      return was === undefined ? say.gained(code) : changed(say.feature(code), was, text);
    }),
    ...[...old.keys()].filter((code) => !now.has(code)).map(say.lost),
  ];
}

const byCode = ({ product_features: features }: License): Map<string, string> =>
  new Map(features.map((feature) => [feature.code, featureOf(feature)]));
