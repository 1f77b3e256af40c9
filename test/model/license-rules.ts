// Installing, renewing and returning licenses.
import type { LicenseUpload } from "../../src/domain/requests/license-upload.ts";
import type { CancelRequest } from "../../src/domain/requests/cancel-request.ts";
import type { LicenseGenerate } from "../../src/domain/requests/license-generate.ts";
import type { LicenseRemove } from "../../src/domain/requests/license-remove.ts";
import type { FeatureTerms } from "../../src/domain/model/licenses/terms.ts";
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

/** Requests that are too old by the time the clock shows now are dropped for good. */
export function makeRequest(site: ModelSite, { request }: LicenseGenerate, at: Instant): Answer {
  site.openRequests = site.openRequests.filter((open) => at < open.at + REQUEST_LIFETIME);
  site.openRequests.push({ request: request.request, at });
  return makeGrant({ request: request.request });
}

/** Cancelling again changes nothing; an answered request cannot be cancelled. */
export function cancelRequest(site: ModelSite, { request }: CancelRequest): Answer {
  const isOpen = site.openRequests.some((open) => open.request === request);
  if (!isOpen && !site.cancelledRequests.includes(request)) {
    const reason = site.answeredRequests.includes(request) ? "answered" : null;
    throw makeRefusal("request_not_found", { reason });
  }
  site.openRequests = site.openRequests.filter((open) => open.request !== request);
  site.cancelledRequests.push(request);
  return makeGrant({ request });
}

export function installLicense(site: ModelSite, command: LicenseUpload, at: Instant): Answer {
  const { license: id, terms, answers } = command;
  const { serial, document } = command.grant;
  const installed = site.findInstalledLicenses().find((license) => license.id === id);
  if (installed?.document === document) return makeGrant({ license: id });
  const request = answers?.request ?? null;
  const reasons = checkInstallation(site, command, request, at);
  if (reasons.length > 0) throw new Refusal(...reasons);
  if (request !== null) {
    site.openRequests = site.openRequests.filter((open) => open.request !== request);
    site.answeredRequests.push(request);
  }
  const newLicense = { id, addedAt: at, terms, serial, document, features: [], isRemoved: false };
  const license = installed ?? newLicense;
  if (installed === undefined) site.licenses.push(license);
  Object.assign(license, { terms, serial, document });
  license.features = mergeFeatures(license.features, terms.features);
  recordPeriods(site, license, at);
  return makeGrant({ license: id });
}

/** The reasons to refuse: a serial that is not newer, and an answer without an open request. */
function checkInstallation(
  site: ModelSite,
  { license: id, grant }: LicenseUpload,
  request: string | null,
  at: Instant,
): Reason[] {
  const installed = site.findInstalledLicenses().find((license) => license.id === id);
  const tombstones = site.tombstones.filter(({ license }) => license === id);
  const newest = Math.max(installed?.serial ?? 0, ...tombstones.map(({ serial }) => serial));
  const isStale = grant.serial <= newest;
  const reasons: Reason[] = isStale ? [{ code: "stale_license", serial: newest }] : [];
  if (request === null) {
    return installed === undefined ? [...reasons, { code: "request_unknown" }] : reasons;
  }
  const isOpen = site.openRequests.some(
    (open) => open.request === request && at < open.at + REQUEST_LIFETIME,
  );
  if (isOpen) return reasons;
  if (site.answeredRequests.includes(request)) return [...reasons, { code: "request_used" }];
  const isCancelled = site.cancelledRequests.includes(request);
  return [...reasons, { code: "request_unknown", cancelled: isCancelled || undefined }];
}

/** A feature that a renewal no longer names stays, with no slots and no consumption left. */
function mergeFeatures(
  before: readonly FeatureTerms[],
  renewedFeatures: readonly FeatureTerms[],
): FeatureTerms[] {
  const existing = before.map((old) => {
    const renewed = renewedFeatures.find(({ code }) => code === old.code);
    if (renewed !== undefined) return renewed;
    const floating = old.floating === null ? null : { ...old.floating, slots: 0 };
    const { consumption } = old;
    const emptied = consumption === null ? null : { ...consumption, max: 0, overages: 0 };
    return { ...old, floating, consumption: emptied };
  });
  return [
    ...existing,
    ...renewedFeatures.filter(({ code }) => before.every((old) => old.code !== code)),
  ];
}

function recordPeriods(site: ModelSite, license: LicenseRecord, at: Instant): void {
  const recordPeriod = (feature: string | null, terms: LicenseRecord["terms"]["consumption"]) => {
    const period = terms?.period ?? null;
    const entry = { what: "period", at: site.recordInstant(at, at), period } as const;
    site.findCounter(license, feature).entries.push(entry);
  };
  recordPeriod(null, license.terms.consumption);
  for (const { code, consumption } of license.features) recordPeriod(code, consumption);
}

export function removeLicense(site: ModelSite, command: LicenseRemove, at: Instant): Answer {
  const license = site.findInstalledLicenses().find(({ id }) => id === command.license);
  const returned = site.tombstones.findLast((tombstone) => tombstone.license === command.license);
  if (license === undefined) {
    if (returned === undefined) throw makeRefusal("license_not_found");
    return makeGrant(returned);
  }
  const borrowedSlots = site
    .findHeldSlots(license, null, at)
    .filter((slot) => findBorrowEnd(slot, at) !== null);
  if (borrowedSlots.length > 0 && !command.withBorrows) {
    throw makeRefusal("slots_borrowed", { slots: borrowedSlots.length });
  }
  const tombstone = {
    license: license.id,
    serial: license.serial,
    product: license.terms.product,
    at,
    total: site.computeTotal(license, null, at),
    borrows: borrowedSlots.map(({ user }) => user),
  };
  license.isRemoved = true;
  for (const slot of site.slots) if (slot.license === license) slot.isReleased = true;
  site.tombstones.push(tombstone);
  // A request lists the installed licenses; the open requests are no longer true.
  site.openRequests = [];
  return makeGrant(tombstone);
}
