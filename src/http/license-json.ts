import type { Terms } from "../domain/terms.ts";
import type { LicenseView } from "../domain/views.ts";
import { licenseObject, type CallerSlot } from "./license-object.ts";

type ChangingValues = readonly (number | string | boolean | null)[];

/** What was last said of each license, by its terms: a renewal brings others. */
const jsonCache = new WeakMap<
  Terms,
  { readonly changing: ChangingValues; readonly text: string }
>();

/**
 * The license object as JSON within JSON. Every heartbeat carries it, and as long as nobody comes
 * or goes it is the same for all of them.
 */
export function licenseJson(view: LicenseView, held: CallerSlot): string {
  const changing = changingValuesOf(view, held);
  const last = jsonCache.get(view.terms);
  if (last !== undefined && isSame(last.changing, changing)) return last.text;
  const text = JSON.stringify(JSON.stringify(licenseObject(view, held)));
  jsonCache.set(view.terms, { changing, text });
  return text;
}

/** All that can differ between two answers about the same terms. */
function changingValuesOf(view: LicenseView, { borrowedUntil }: CallerSlot): ChangingValues {
  const { id, active, expired, slotsInUse, total, grant, features } = view;
  const changing = [id, active, expired, slotsInUse, total, grant.policyId, borrowedUntil];
  for (const feature of features) changing.push(feature.slotsInUse, feature.total);
  return changing;
}

const isSame = (a: ChangingValues, b: ChangingValues): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);
