import { totalAt } from "../domain/consumption/counters.ts";
import type { State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import { publicPart } from "../license/keys.ts";
import type { LicenseRequest } from "../license/request.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import type { Identity } from "./identity.ts";

/** The content of a request that was just created, as it is signed for the vendor. */
export function buildLicenseRequest(
  identity: Identity,
  state: State,
  request: string,
  at: Instant,
): LicenseRequest {
  const open = state.requests.get(request);
  const head = state.requestHeads.at(-1);
  if (open === undefined || head === undefined)
    throw new Error("a created request is missing from the state");
  return {
    request_id: open.request,
    nonce: open.nonce,
    created_at: rfc3339(at),
    product: open.product,
    license_key: open.licenseKey,
    appliance: identity.id,
    jwk: publicPart(identity.key),
    hardware_id: open.hardwareId,
    hardware: open.hardware.map(({ kind, digest }) => ({ kind, digest })),
    licenses: [...state.licenses.values()].map(({ id, terms, grant, counter }) => ({
      license_id: id,
      product: terms.product,
      vendor: grant.vendor,
      serial: grant.serial,
      total_consumptions: totalAt(counter, at),
    })),
    audit: { seq: head.auditSeq, sum: head.auditSum },
    heads: state.requestHeads.map(({ request, auditSeq, auditSum }) => ({
      request_id: request,
      audit_seq: auditSeq,
      sum: auditSum,
    })),
    ...(state.restores.length > 0 && {
      restores: state.restores.map(({ at: when, ...restore }) => ({
        ...restore,
        at: rfc3339(when),
      })),
    }),
    trust: [...state.vendors.values()].map(({ vendor, version }) => ({ vendor, version })),
  };
}
