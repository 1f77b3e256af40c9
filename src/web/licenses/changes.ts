import { formatNumber } from "../format.ts";
import { changes as say } from "../texts/add-license.ts";
import type { License } from "./license.ts";
import { borrowTextOf, consumptionTextOf, featureTextOf, validityTextOf } from "./terms.ts";

/** What a renewal changed, line by line, for whoever asked for it. */
export function changesOf(before: License, after: License): string[] {
  return [
    changeLine(say.slots, formatNumber(before.floating_users), formatNumber(after.floating_users)),
    changeLine(say.validity, validityTextOf(before), validityTextOf(after)),
    changeLine(say.borrow, borrowTextOf(before), borrowTextOf(after)),
    changeLine(say.consumption, licenseConsumptionText(before), licenseConsumptionText(after)),
    ...featureChangesOf(before, after),
  ].filter((line) => line !== null);
}

const changeLine = (what: string, from: string, to: string): string | null =>
  from === to ? null : say.change(what, from, to);

const licenseConsumptionText = (license: License): string =>
  consumptionTextOf(license, license.max_consumptions);

function featureChangesOf(before: License, after: License): (string | null)[] {
  const [old, now] = [featureTextByCode(before), featureTextByCode(after)];
  return [
    ...[...now].map(([code, text]) => {
      const was = old.get(code);
      return was === undefined ? say.featureAdded(code) : changeLine(say.feature(code), was, text);
    }),
    ...[...old.keys()].filter((code) => !now.has(code)).map(say.featureRemoved),
  ];
}

const featureTextByCode = ({ product_features: features }: License): Map<string, string> =>
  new Map(features.map((feature) => [feature.code, featureTextOf(feature)]));
