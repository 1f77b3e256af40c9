import { findReportedHeads } from "../../domain/requests/open-requests.ts";
import type { RequestedPair } from "../../domain/model/pair/licensed-host.ts";
import type { State } from "../../domain/model/state.ts";
import { publicPart } from "../../license/documents/keys.ts";
import type { LicenseRequest, RequestPairDocument } from "../../license/requests/request.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { HardwareDigest } from "../../domain/model/hardware-digest.ts";
import type { Identity } from "../appliance/identity.ts";

/**
 * The content of an open request, as it is signed for the vendor. It is the same each time, and so
 * is its signature.
 */
export function buildLicenseRequest(
  identity: Identity,
  state: State,
  request: string,
): LicenseRequest {
  const open = state.requests.get(request);
  const heads = findReportedHeads(state, request);
  const head = heads?.at(-1);
  if (open === undefined || heads === null || head === undefined)
    throw new Error("an open request is missing from the state");
  const { createdAt, licenses, restores, trust } = open.report;
  return {
    request_id: open.request,
    nonce: open.nonce,
    created_at: rfc3339(createdAt),
    product: open.product,
    license_key: open.licenseKey,
    ...(open.wants !== undefined && { wants: open.wants }),
    ...(open.pair !== undefined && { pair: buildRequestPair(open.pair) }),
    appliance: identity.id,
    jwk: publicPart(identity.key),
    hardware_id: open.hardwareId,
    hardware: copyDigests(open.hardware),
    licenses: licenses.map(({ license, product, vendor, serial, total }) => ({
      license_id: license,
      product,
      vendor,
      serial,
      total_consumptions: total,
    })),
    audit: { seq: head.auditSeq, sum: head.auditSum },
    heads: heads.map(({ request, auditSeq, auditSum }) => ({
      request_id: request,
      audit_seq: auditSeq,
      sum: auditSum,
    })),
    ...(restores.length > 0 && {
      restores: restores.map(({ at: when, grace, ...restore }) => ({
        ...restore,
        at: rfc3339(when),
        ...(grace !== undefined && {
          grace: grace.map(({ license, serial }) => ({ license_id: license, serial })),
        }),
      })),
    }),
    trust: trust.map(({ vendor, version, sum }) => ({ vendor, version, sum })),
  };
}

const buildRequestPair = ({ log, epoch, leader, hosts }: RequestedPair): RequestPairDocument => ({
  log,
  epoch,
  leader,
  hosts: hosts.map(({ name, hardwareId, hardware, head }) => ({
    name,
    hardware_id: hardwareId,
    hardware: copyDigests(hardware),
    head: head && { seq: head.seq, sum: head.sum, at: rfc3339(head.at) },
  })),
});

const copyDigests = (hardware: readonly HardwareDigest[]) =>
  hardware.map(({ kind, digest }) => ({ kind, digest }));
