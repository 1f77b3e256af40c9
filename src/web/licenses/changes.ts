import { formatNumber } from "../format.ts";
import { changes as texts } from "./add-license-texts.ts";
import type { License } from "./license.ts";
import { borrowTextOf, consumptionTextOf, featureTextOf, validityTextOf } from "./terms.ts";

/** What a renewal changed, one line per change. */
export function changesOf(before: License, after: License): string[] {
  return [
    changeLine(
      texts.slots,
      formatNumber(before.floating_users),
      formatNumber(after.floating_users),
    ),
    changeLine(texts.hosts, formatNumber(before.hosts ?? 1), formatNumber(after.hosts ?? 1)),
    changeLine(texts.validity, validityTextOf(before), validityTextOf(after)),
    changeLine(texts.borrow, borrowTextOf(before), borrowTextOf(after)),
    changeLine(texts.consumption, licenseConsumptionText(before), licenseConsumptionText(after)),
    ...featureChangesOf(before, after),
  ].filter((line) => line !== null);
}

const changeLine = (term: string, from: string, to: string): string | null =>
  from === to ? null : texts.change(term, from, to);

const licenseConsumptionText = (license: License): string =>
  consumptionTextOf(license, license.max_consumptions);

function featureChangesOf(before: License, after: License): (string | null)[] {
  const [oldTexts, newTexts] = [featureTextByCode(before), featureTextByCode(after)];
  return [
    ...[...newTexts].map(([code, text]) => {
      const oldText = oldTexts.get(code);
      return oldText === undefined
        ? texts.featureAdded(code)
        : changeLine(texts.feature(code), oldText, text);
    }),
    ...[...oldTexts.keys()].filter((code) => !newTexts.has(code)).map(texts.featureRemoved),
  ];
}

const featureTextByCode = ({ product_features: features }: License): Map<string, string> =>
  new Map(features.map((feature) => [feature.code, featureTextOf(feature)]));
