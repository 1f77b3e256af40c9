import type { InstalledLicense } from "../../domain/requests/install-license.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import type { License, State } from "../../domain/model/state.ts";
import {
  viewFeature,
  viewLicense,
  type FeatureView,
  type LicenseView,
} from "../../domain/views/views.ts";

/** The license that a decision names, read in the same step as the decision. */
export function getDecidedLicense(state: State, id: number): License {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("a decision names a license that does not exist");
  return license;
}

export const viewDecidedLicense = (state: State, id: number, context: RuleContext): LicenseView =>
  viewLicense(state, getDecidedLicense(state, id), context);

export type InstalledLicenseView = LicenseView & Pick<InstalledLicense, "changes">;

/** The license that was installed, and how it differs from the one that it replaced. */
export const viewInstalledLicense = (
  state: State,
  { license, changes }: InstalledLicense,
  context: RuleContext,
): InstalledLicenseView => ({ ...viewDecidedLicense(state, license, context), changes });

export function viewDecidedFeature(
  state: State,
  { license, feature }: { readonly license: number; readonly feature: string },
  { at }: RuleContext,
): FeatureView {
  const view = viewFeature(getDecidedLicense(state, license), feature, at);
  if (view === null) throw new Error("a decision names a feature that does not exist");
  return view;
}
