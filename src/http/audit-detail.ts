import type { Machine } from "../domain/slots/registration.ts";
import type { Event } from "../domain/event.ts";
import type { Contact } from "../domain/slots/registration.ts";
import type { Restore } from "../domain/state.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { rfc3339OrNull } from "./timestamps.ts";

export type AuditDetail = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>;

/**
 * The data of an event besides its product, license, user and address, under the names of the API.
 * Listed field by field, so that nonces, codes and documents that are still usable stay out.
 */
export function auditDetailOf(event: Event): AuditDetail {
  const build = DETAIL_BUILDERS[event.type] as (event: Event) => AuditDetail;
  return build(event);
}

type DetailBuilder<T extends Event["type"]> = (
  event: Extract<Event, { readonly type: T }>,
) => AuditDetail;

const NO_DETAIL: AuditDetail = {};

const DETAIL_BUILDERS: { readonly [T in Event["type"]]: DetailBuilder<T> } = {
  Created: ({ kind, appliance }) => ({ kind, appliance }),
  VendorTrusted: ({ vendor: { vendor, name, version, products, retired } }) => ({
    vendor,
    name,
    version,
    products,
    ...(retired !== undefined && { retired_keys: retired.map(({ key }) => key) }),
  }),
  VendorDistrusted: ({ vendor }) => ({ vendor }),
  RequestMade: ({ request: { request, licenseKey, hardwareId }, head }) => ({
    request_id: request,
    license_key: licenseKey,
    hardware_id: hardwareId,
    audit_seq: head.auditSeq,
    audit_sum: head.auditSum,
  }),
  ActivationMade: ({ activation: { licenseKey, hardwareId } }) => ({
    license_key: licenseKey,
    hardware_id: hardwareId,
  }),
  LicenseInstalled: ({ terms, grant, request }) => ({
    license_type: terms.type,
    license_key: terms.licenseKey,
    customer: terms.customer,
    floating_users: terms.slots,
    start_date: rfc3339OrNull(terms.start),
    validity_period: rfc3339OrNull(terms.validUntil),
    product_features: terms.features.map(({ code }) => code),
    vendor: grant.vendor,
    serial: grant.serial,
    policy_id: grant.policyId,
    hardware_id: grant.hardwareId,
    request_id: request,
  }),
  LicenseRemoved: ({ tombstone: { vendor, serial, total, borrows } }) => ({
    vendor,
    serial,
    total_consumptions: total,
    borrowed_by: borrows,
  }),
  SlotTaken: ({ slot, end, contact }) => ({
    slot,
    expires_at: rfc3339(end),
    ...contactDetail(contact),
  }),
  SlotRenewed: ({ end, contact }) => ({
    expires_at: rfc3339(end),
    ...(contact && contactDetail(contact)),
  }),
  ContactChanged: ({ slot, hostname, ip }) => ({ slot, os_hostname: hostname, ip_local: ip }),
  SlotBorrowed: ({ slot, until, end, contact, early }) => ({
    slot,
    borrowed_until: rfc3339(until),
    expires_at: rfc3339(end),
    early_return: early,
    ...contactDetail(contact),
  }),
  SlotReleased: ({ slot, by, early }) => ({ slot, by, early_return: early }),
  SlotExpired: ({ slot }) => ({ slot }),
  SlotRestored: ({ slot, until }) => ({ slot, borrowed_until: rfc3339(until) }),
  FeatureTaken: ({ feature, slot, end }) => ({ feature, slot, expires_at: rfc3339(end) }),
  FeatureRenewed: ({ feature, end }) => ({ feature, expires_at: rfc3339(end) }),
  FeatureReleased: ({ feature, slot, by }) => ({ feature, slot, by }),
  FeatureExpired: ({ feature, slot }) => ({ feature, slot }),
  ConsumptionAdded: ({ count, total, resetAt }) => ({
    consumptions: count,
    total_consumptions: total,
    resets_at: rfc3339OrNull(resetAt),
  }),
  FeatureConsumptionAdded: ({ feature, count, total, resetAt }) => ({
    feature,
    consumptions: count,
    total_consumptions: total,
    resets_at: rfc3339OrNull(resetAt),
  }),
  // The stored key is a hash of the call, which has no meaning for a reader.
  KeyRemembered: () => NO_DETAIL,
  KeysSet: ({ changed }) => ({ changed }),
  AccessChanged: ({ change, name }) => ({ change, name }),
  Restored: ({ restore }) => lineageDetail(restore),
  MovedAway: ({ move }) => ({ move }),
  MovedIn: ({ restore }) => lineageDetail(restore),
  AuditGapDeclared: ({ gap, note }) => ({
    reason: gap.reason,
    from_line: gap.from,
    to_line: gap.to,
    sum_before: gap.before,
    sum_after: gap.after,
    earliest: rfc3339OrNull(gap.earliest),
    latest: rfc3339OrNull(gap.latest),
    files: gap.files.map(({ name, bytes, sha256 }) => `${name}, ${bytes} bytes, ${sha256}`),
    note,
  }),
  ClockMarked: () => NO_DETAIL,
  ClockAsked: () => NO_DETAIL,
  ClockJumped: ({ from, to, reason }) => ({ from: rfc3339(from), to: rfc3339(to), reason }),
  ClockSetBack: ({ from, to }) => ({ from: rfc3339(from), to: rfc3339(to) }),
  RefusalsCounted: ({ code, count, users }) => ({ code, count, users }),
};

const contactDetail = ({ hostname, ip, info }: Machine & Partial<Contact>): AuditDetail => ({
  os_hostname: hostname,
  ip_local: ip,
  ...(info !== undefined && { user_info: info }),
});

const lineageDetail = ({ lineage: name, seq, replaced }: Restore): AuditDetail => ({
  lineage: name,
  seq,
  replaced_seq: replaced,
});
