// Licenses that come in, are renewed and are given back.
import type { InstallLicense, MakeRequest, RemoveLicense } from "../../src/domain/command.ts";
import type { FeatureTerms } from "../../src/domain/terms.ts";
import { DAY, type Instant } from "../../src/domain/time.ts";
import { findBorrowEnd, type LicenseRecord } from "./records.ts";
import {
  makeGrant,
  makeRefusal,
  Refusal,
  type Answer,
  type Reason,
  type ModelSite,
} from "./site.ts";

/** How long a vendor may take to answer. */
export const REQUEST_LIFETIME = 400 * DAY;

/** Whatever was open for too long by what the clock shows now is dropped for good. */
export function makeRequest(site: ModelSite, { request }: MakeRequest, at: Instant): Answer {
  site.openRequests = site.openRequests.filter((open) => at < open.at + REQUEST_LIFETIME);
  site.openRequests.push({ request: request.request, at });
  return makeGrant({ request: request.request });
}

export function installLicense(site: ModelSite, command: InstallLicense, at: Instant): Answer {
  const { license: id, terms, answers } = command;
  const { serial, document } = command.grant;
  const known = site.findInstalledLicenses().find((license) => license.id === id);
  if (known?.document === document) return makeGrant({ license: id });
  const request = answers !== null && "request" in answers ? answers.request : null;
  const reasons = checkInstallation(site, command, request, at);
  if (reasons.length > 0) throw new Refusal(...reasons);
  if (request !== null) {
    site.openRequests = site.openRequests.filter((open) => open.request !== request);
    site.answeredRequests.push(request);
  }
  const fresh = { id, addedAt: at, terms, serial, document, features: [], isRemoved: false };
  const license = known ?? fresh;
  if (known === undefined) site.licenses.push(license);
  Object.assign(license, { terms, serial, document });
  license.features = mergeFeatures(license.features, terms.features);
  recordPeriods(site, license, at);
  return makeGrant({ license: id });
}

/** A serial that was there already, and an answer to nothing that was asked. */
function checkInstallation(
  site: ModelSite,
  { license: id, grant }: InstallLicense,
  request: string | null,
  at: Instant,
): Reason[] {
  const known = site.findInstalledLicenses().find((license) => license.id === id);
  const gone = site.tombstones.filter(({ license }) => license === id);
  const newest = Math.max(known?.serial ?? 0, ...gone.map(({ serial }) => serial));
  const isStale = grant.serial <= newest;
  const reasons: Reason[] = isStale ? [{ code: "stale_license", serial: newest }] : [];
  if (request === null) {
    return known === undefined ? [...reasons, { code: "request_unknown" }] : reasons;
  }
  const isOpen = site.openRequests.some(
    (one) => one.request === request && at < one.at + REQUEST_LIFETIME,
  );
  if (isOpen) return reasons;
  const isAnswered = site.answeredRequests.includes(request);
  return [...reasons, { code: isAnswered ? "request_used" : "request_unknown" }];
}

/** A renewal that no longer names a feature leaves it there with nothing more to give. */
function mergeFeatures(
  before: readonly FeatureTerms[],
  named: readonly FeatureTerms[],
): FeatureTerms[] {
  const kept = before.map((old) => {
    const renewed = named.find(({ code }) => code === old.code);
    if (renewed !== undefined) return renewed;
    const floating = old.floating === null ? null : { ...old.floating, slots: 0 };
    const { consumption } = old;
    const none = consumption === null ? null : { ...consumption, max: 0, overages: 0 };
    return { ...old, floating, consumption: none };
  });
  return [...kept, ...named.filter(({ code }) => before.every((old) => old.code !== code))];
}

function recordPeriods(site: ModelSite, license: LicenseRecord, at: Instant): void {
  const note = (feature: string | null, terms: LicenseRecord["terms"]["consumption"]) => {
    const period = terms?.period ?? null;
    const noted = { what: "period", at: site.recordInstant(at, at), period } as const;
    site.findCounter(license, feature).entries.push(noted);
  };
  note(null, license.terms.consumption);
  for (const { code, consumption } of license.features) note(code, consumption);
}

export function removeLicense(site: ModelSite, command: RemoveLicense, at: Instant): Answer {
  const license = site.findInstalledLicenses().find(({ id }) => id === command.license);
  const gone = site.tombstones.findLast((tombstone) => tombstone.license === command.license);
  if (license === undefined) {
    if (gone === undefined) throw makeRefusal("license_not_found");
    return makeGrant(gone);
  }
  const borrowed = site
    .findHeldSlots(license, null, at)
    .filter((slot) => findBorrowEnd(slot, at) !== null);
  if (borrowed.length > 0 && !command.withBorrows) {
    throw makeRefusal("slots_borrowed", { slots: borrowed.length });
  }
  const tombstone = {
    license: license.id,
    serial: license.serial,
    product: license.terms.product,
    at,
    total: site.computeTotal(license, null, at),
    borrows: borrowed.map(({ user }) => user),
  };
  license.isRemoved = true;
  for (const slot of site.slots) if (slot.license === license) slot.isReleased = true;
  site.tombstones.push(tombstone);
  // A request says what is installed: what was said before this is no longer true.
  site.openRequests = [];
  return makeGrant(tombstone);
}
