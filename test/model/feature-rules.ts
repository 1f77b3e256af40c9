// Feature slots: each feature has its own pool, for users who hold a slot of the license.
import type { FeatureRegister } from "../../src/domain/features/feature-register.ts";
import type { FeatureRelease } from "../../src/domain/features/feature-release.ts";
import type { FeatureTerms } from "../../src/domain/model/licenses/terms.ts";
import { MINUTE, type Instant } from "../../src/domain/time.ts";
import { isHeld, type LicenseRecord } from "./records.ts";
import {
  filterAllowed,
  makeGrant,
  addMilliseconds,
  makeRefusal,
  type Answer,
  type Reason,
  type ModelSite,
} from "./site.ts";

export const findFeatureTerms = (
  { features }: LicenseRecord,
  feature: string | null,
): FeatureTerms | undefined => features.find(({ code }) => code === feature);

/** Uses a license the user holds a slot of; of several, the newest that can grant the feature. */
export function registerFeature(site: ModelSite, command: FeatureRegister, at: Instant): Answer {
  const { user, feature } = command;
  const heldLicenses = site.filterHeldBy(
    site.findValidLicenses(command, { user, feature }, at),
    user,
    at,
  );
  if (heldLicenses.length === 0) throw makeRefusal("user_not_registered");
  const [license] = filterAllowed(heldLicenses, (candidate) =>
    checkFeature(site, candidate, command, at),
  );
  const floating = license === undefined ? null : findFeatureTerms(license, feature)?.floating;
  if (license === undefined || floating == null) throw new Error("no such feature");
  const heldSlot = site.findHeldSlot(license, feature, user, at);
  const slot = heldSlot ?? site.takeSlot(license, feature, user ?? "", at, null);
  slot.licenseSlot = site.findHeldSlot(license, null, user, at) ?? null;
  slot.timeoutAt = site.recordInstant(addMilliseconds(at, floating.timeoutMinutes * MINUTE), at);
  return makeGrant({ license: license.id, feature });
}

function checkFeature(
  site: ModelSite,
  license: LicenseRecord,
  { user, feature }: FeatureRegister,
  at: Instant,
): Reason | null {
  const terms = findFeatureTerms(license, feature);
  if (terms === undefined) return { code: "invalid_license_feature_code" };
  const expired = checkFeatureExpiry(terms, at);
  if (expired !== null) return expired;
  if (terms.floating === null) return { code: "feature_not_floating" };
  if (site.findHeldSlot(license, feature, user, at) !== undefined) return null;
  const isFull = site.findHeldSlots(license, feature, at).length >= terms.floating.slots;
  return isFull ? { code: "floating_not_available" } : null;
}

export function checkFeatureExpiry({ expires }: FeatureTerms, at: Instant): Reason | null {
  if (expires === null || at < expires) return null;
  return { code: "license_expired", what: "feature", end: expires };
}

export function releaseFeature(site: ModelSite, command: FeatureRelease, at: Instant): Answer {
  const { user, feature } = command;
  const licensesWithFeature = filterAllowed(
    site.findRequestedLicenses(command, { user, feature }),
    (license) =>
      findFeatureTerms(license, feature) === undefined
        ? { code: "invalid_license_feature_code" }
        : null,
  );
  const heldSlot = licensesWithFeature
    .flatMap((license) => site.findHeldSlots(license, feature, at))
    .find((slot) => slot.user === user);
  if (heldSlot === undefined) throw makeRefusal("user_not_registered");
  heldSlot.isReleased = true;
  return makeGrant({ license: heldSlot.license.id, feature });
}

export function releaseAllFeatures(site: ModelSite, at: Instant): Answer {
  const heldSlots = site.slots.filter((slot) => slot.feature !== null && isHeld(slot, at));
  for (const slot of heldSlots) slot.isReleased = true;
  return makeGrant({ released: heldSlots.length });
}
