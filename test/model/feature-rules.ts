// Slots of features: a pool of their own, for those who hold a slot of the license.
import type { RegisterFeature, ReleaseFeature } from "../../src/domain/command.ts";
import type { FeatureTerms } from "../../src/domain/terms.ts";
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

/** On a license the user holds a slot of; where that is so of several, on the newest that can. */
export function registerFeature(site: ModelSite, command: RegisterFeature, at: Instant): Answer {
  const { user, feature } = command;
  const holding = site.filterHeldBy(
    site.findValidLicenses(command, { user, feature }, at),
    user,
    at,
  );
  if (holding.length === 0) throw makeRefusal("user_not_registered");
  const [license] = filterAllowed(holding, (one) => checkFeature(site, one, command, at));
  const floating = license === undefined ? null : findFeatureTerms(license, feature)?.floating;
  if (license === undefined || floating == null) throw new Error("no such feature");
  const held = site.findHeldSlot(license, feature, user, at);
  const slot = held ?? site.takeSlot(license, feature, user ?? "", at, null);
  slot.licenseSlot = site.findHeldSlot(license, null, user, at) ?? null;
  slot.timeoutAt = site.recordInstant(addMilliseconds(at, floating.timeoutMinutes * MINUTE), at);
  return makeGrant({ license: license.id, feature });
}

function checkFeature(
  site: ModelSite,
  license: LicenseRecord,
  { user, feature }: RegisterFeature,
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

export function releaseFeature(site: ModelSite, command: ReleaseFeature, at: Instant): Answer {
  const { user, feature } = command;
  const having = filterAllowed(site.findRequestedLicenses(command, { user, feature }), (license) =>
    findFeatureTerms(license, feature) === undefined
      ? { code: "invalid_license_feature_code" }
      : null,
  );
  const held = having
    .flatMap((license) => site.findHeldSlots(license, feature, at))
    .find((slot) => slot.user === user);
  if (held === undefined) throw makeRefusal("user_not_registered");
  held.isReleased = true;
  return makeGrant({ license: held.license.id, feature });
}

export function releaseAllFeatures(site: ModelSite, at: Instant): Answer {
  const held = site.slots.filter((slot) => slot.feature !== null && isHeld(slot, at));
  for (const slot of held) slot.isReleased = true;
  return makeGrant({ released: held.length });
}
