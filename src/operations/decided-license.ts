import type { InstalledLicense } from "../domain/licenses/install-license.ts";
import { describeTermsDifference } from "../domain/licenses/terms-difference.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import type { License, State } from "../domain/state.ts";
import { viewFeature, viewLicense, type FeatureView, type LicenseView } from "../domain/views.ts";

/** The license that a decision names, read in the same step as the decision. */
export function getDecidedLicense(state: State, id: number): License {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("a decision names a license that does not exist");
  return license;
}

export const viewDecidedLicense = (state: State, id: number, context: RuleContext): LicenseView =>
  viewLicense(state, getDecidedLicense(state, id), context);

export interface InstalledLicenseView extends LicenseView {
  /** Changes of a renewal; null: a new license, or one that was already installed. */
  readonly changes: readonly string[] | null;
}

/** The license that was installed, and how its terms differ from those that it replaced. */
export function viewInstalledLicense(
  state: State,
  { license, replacedTerms }: InstalledLicense,
  context: RuleContext,
): InstalledLicenseView {
  const view = viewDecidedLicense(state, license, context);
  return { ...view, changes: replacedTerms && describeTermsDifference(replacedTerms, view.terms) };
}

export function viewDecidedFeature(
  state: State,
  { license, feature }: { readonly license: number; readonly feature: string },
  { at }: RuleContext,
): FeatureView {
  const view = viewFeature(getDecidedLicense(state, license), feature, at);
  if (view === null) throw new Error("a decision names a feature that does not exist");
  return view;
}
