import type { EventRows } from "../model/event-row.ts";
import { formatList, formatTime, formatTimestampOrNull, pluralize } from "../model/event-texts.ts";

/** What the audit log says of vendors, requests and licenses. */
export const LICENSE_EVENTS: EventRows<
  | "VendorTrusted"
  | "VendorDistrusted"
  | "RequestMade"
  | "ActivationMade"
  | "RequestCancelled"
  | "LicenseInstalled"
  | "LicenseRemoved"
> = {
  VendorTrusted: {
    kind: "licenses",
    isAudited: true,
    summary: ({ vendor: { name, products, retired } }) =>
      `vendor ${name} trusted for ${formatList(products)}` +
      (retired.length === 0 ? "" : `; ${pluralize(retired.length, "retired key")}`),
    details: ({ vendor: { vendor, name, version, products, retired, notice } }) => ({
      vendor,
      name,
      version,
      products,
      retired_keys: retired,
      ...(notice !== null && { changes: notice.changes }),
    }),
  },
  VendorDistrusted: {
    kind: "licenses",
    isAudited: true,
    summary: ({ vendor }) => `vendor ${vendor} no longer trusted`,
    details: ({ vendor }) => ({ vendor }),
  },
  RequestMade: {
    kind: "licenses",
    isAudited: true,
    summary: ({ request }) => `license request ${request.request} created`,
    details: ({ request: { request, licenseKey, hardwareId, wants, pair }, head }) => ({
      request_id: request,
      license_key: licenseKey,
      ...(wants?.slots !== undefined && { wanted_slots: wants.slots }),
      ...(wants?.until !== undefined && { wanted_until: wants.until }),
      ...(wants?.note !== undefined && { note: wants.note }),
      hardware_id: hardwareId,
      ...(pair !== undefined && {
        epoch: pair.epoch,
        hosts: pair.hosts.map(({ name, hardwareId: id }) => `${name} ${id}`),
      }),
      audit_seq: head.auditSeq,
      audit_sum: head.auditSum,
    }),
  },
  ActivationMade: {
    kind: "licenses",
    isAudited: true,
    summary: ({ activation }) => `activation code created for license key ${activation.licenseKey}`,
    details: ({ activation: { licenseKey, hardwareId } }) => ({
      license_key: licenseKey,
      hardware_id: hardwareId,
    }),
  },
  RequestCancelled: {
    kind: "licenses",
    isAudited: true,
    summary: ({ request }) => `license request ${request} cancelled`,
    details: ({ request, licenseKey }) => ({ request_id: request, license_key: licenseKey }),
  },
  LicenseInstalled: {
    kind: "licenses",
    isAudited: true,
    summary: ({ license, terms, grant }) =>
      `license ${license} installed: ${terms.product}, ${pluralize(terms.slots, "slot")}, ` +
      `${terms.validUntil === null ? "no expiry" : `until ${formatTime(terms.validUntil)}`}, ` +
      `serial ${grant.serial}`,
    details: ({ terms, grant, request, changes }) => ({
      ...(changes !== undefined && { changes }),
      license_type: terms.type,
      license_key: terms.licenseKey,
      customer: terms.customer,
      floating_users: terms.slots,
      start_date: formatTimestampOrNull(terms.start),
      validity_period: formatTimestampOrNull(terms.validUntil),
      product_features: terms.features.map(({ code }) => code),
      vendor: grant.vendor,
      serial: grant.serial,
      policy_id: grant.policyId,
      hardware_id: grant.hardwareId,
      ...(grant.hosts !== undefined && {
        hosts: grant.hosts.map(({ name, hardwareId: id }) => `${name} ${id}`),
      }),
      request_id: request,
    }),
  },
  LicenseRemoved: {
    kind: "licenses",
    isAudited: true,
    summary: ({ license, tombstone: { borrows } }) =>
      `license ${license} returned to the vendor${
        borrows.length === 0 ? "" : `, with ${pluralize(borrows.length, "borrowed slot")}`
      }`,
    details: ({ tombstone: { vendor, serial, total, borrows } }) => ({
      vendor,
      serial,
      total_consumptions: total,
      borrowed_by: borrows,
    }),
  },
};
