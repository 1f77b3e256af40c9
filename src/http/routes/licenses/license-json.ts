import type { Terms } from "../../../domain/model/licenses/terms.ts";
import type { LicenseView } from "../../../domain/views/views.ts";
import { licenseObject, type CallerSlot } from "./license-object.ts";

type ChangingValues = readonly (number | string | boolean | null)[];

/** The last JSON of each license, by its terms: a renewal brings a new terms object. */
const jsonCache = new WeakMap<
  Terms,
  { readonly changingValues: ChangingValues; readonly text: string }
>();

/**
 * The license object as JSON in a JSON string. Every heartbeat returns it, and it is the same for
 * all users as long as no slot is taken or released, so it is cached.
 */
export function licenseJson(view: LicenseView, callerSlot: CallerSlot): string {
  const changingValues = changingValuesOf(view, callerSlot);
  const cached = jsonCache.get(view.terms);
  if (cached !== undefined && isSame(cached.changingValues, changingValues)) return cached.text;
  const text = JSON.stringify(JSON.stringify(licenseObject(view, callerSlot)));
  jsonCache.set(view.terms, { changingValues, text });
  return text;
}

/** Everything that can differ between two replies with the same terms. */
function changingValuesOf(view: LicenseView, { borrowedUntil }: CallerSlot): ChangingValues {
  const { id, active, expired, slotsInUse, total, grant, features } = view;
  const changingValues = [id, active, expired, slotsInUse, total, grant.policyId, borrowedUntil];
  for (const feature of features) changingValues.push(feature.slotsInUse, feature.total);
  return changingValues;
}

function isSame(a: ChangingValues, b: ChangingValues): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
