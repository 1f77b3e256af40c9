// Slots of features: a pool of their own, for those who hold a slot of the license.
import type { RegisterFeature, ReleaseFeature } from "../../src/domain/command.ts";
import type { FeatureTerms } from "../../src/domain/terms.ts";
import { MINUTE, type Instant } from "../../src/domain/time.ts";
import { isHeld, type LicenseRecord } from "./records.ts";
import { fitting, granted, plus, refusal, type Answer, type Reason, type Site } from "./site.ts";

export const termsOf = (
  { features }: LicenseRecord,
  feature: string | null,
): FeatureTerms | undefined => features.find(({ code }) => code === feature);

/** On a license the user holds a slot of; where that is so of several, on the newest that can. */
export function registerFeature(site: Site, command: RegisterFeature, at: Instant): Answer {
  const { user, feature } = command;
  const holding = site.heldOf(site.valid(command, { user, feature }, at), user, at);
  if (holding.length === 0) throw refusal("user_not_registered");
  const [license] = fitting(holding, (one) => featureRefusal(site, one, command, at));
  const floating = license === undefined ? null : termsOf(license, feature)?.floating;
  if (license === undefined || floating == null) throw new Error("no such feature");
  const held = site.slotOf(license, feature, user, at);
  const slot = held ?? site.take(license, feature, user ?? "", at, null);
  slot.through = site.slotOf(license, null, user, at) ?? null;
  slot.aliveUntil = site.dated(plus(at, floating.timeoutMinutes * MINUTE), at);
  return granted({ license: license.id, feature });
}

function featureRefusal(
  site: Site,
  license: LicenseRecord,
  { user, feature }: RegisterFeature,
  at: Instant,
): Reason | null {
  const terms = termsOf(license, feature);
  if (terms === undefined) return { code: "invalid_license_feature_code" };
  const expired = featureExpiry(terms, at);
  if (expired !== null) return expired;
  if (terms.floating === null) return { code: "feature_not_floating" };
  if (site.slotOf(license, feature, user, at) !== undefined) return null;
  const isFull = site.holders(license, feature, at).length >= terms.floating.slots;
  return isFull ? { code: "floating_not_available" } : null;
}

export function featureExpiry({ expires }: FeatureTerms, at: Instant): Reason | null {
  if (expires === null || at < expires) return null;
  return { code: "license_expired", what: "feature", end: expires };
}

export function releaseFeature(site: Site, command: ReleaseFeature, at: Instant): Answer {
  const { user, feature } = command;
  const having = fitting(site.meant(command, { user, feature }), (license) =>
    termsOf(license, feature) === undefined ? { code: "invalid_license_feature_code" } : null,
  );
  const held = having
    .flatMap((license) => site.holders(license, feature, at))
    .find((slot) => slot.user === user);
  if (held === undefined) throw refusal("user_not_registered");
  held.isReleased = true;
  return granted({ license: held.license.id, feature });
}

export function releaseAllFeatures(site: Site, at: Instant): Answer {
  const held = site.slots.filter((slot) => slot.feature !== null && isHeld(slot, at));
  for (const slot of held) slot.isReleased = true;
  return granted({ released: held.length });
}
