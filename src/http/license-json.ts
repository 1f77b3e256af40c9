import type { Terms } from "../domain/terms.ts";
import type { LicenseView } from "../domain/views.ts";
import { licenseObject, type Held } from "./license-object.ts";

type Changing = readonly (number | string | boolean | null)[];

/** What was last said of each license, by its terms: a renewal brings others. */
const lastSaid = new WeakMap<Terms, { readonly changing: Changing; readonly text: string }>();

/**
 * The license object as JSON within JSON. Every heartbeat carries it, and as long as nobody comes
 * or goes it is the same for all of them.
 */
export function licenseJson(view: LicenseView, held: Held): string {
  const changing = changingIn(view, held);
  const last = lastSaid.get(view.terms);
  if (last !== undefined && isSame(last.changing, changing)) return last.text;
  const text = JSON.stringify(JSON.stringify(licenseObject(view, held)));
  lastSaid.set(view.terms, { changing, text });
  return text;
}

/** All that can differ between two answers about the same terms. */
function changingIn(view: LicenseView, { borrowedUntil }: Held): Changing {
  const { id, active, expired, slotsInUse, total, grant, features } = view;
  const changing = [id, active, expired, slotsInUse, total, grant.policyId, borrowedUntil];
  for (const feature of features) changing.push(feature.slotsInUse, feature.total);
  return changing;
}

const isSame = (a: Changing, b: Changing): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);
