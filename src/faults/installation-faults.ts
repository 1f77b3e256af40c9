import type { Fault, ReturnedLicense, TrustConflict } from "../domain/fault.ts";
import { limits } from "../domain/limits.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { SAMPLE_TIME } from "./fault-parts.ts";
import type { FaultRows } from "./fault-row.ts";

/** Refusals of the rules for installing, returning and moving licenses, and for trust. */
export const INSTALLATION_FAULTS = {
  untrusted_vendor: {
    status: 400,
    message: ({ conflict }) =>
      conflict === undefined
        ? "no trusted vendor has this key for this product; berth trust list shows the trusted " +
          "vendors. If the vendor's key changed, a successor document is missing"
        : describeConflict(conflict),
    hint: ({ conflict }) =>
      conflict === undefined
        ? "add the vendor's trust document, or a newer successor document, with berth trust add FILE"
        : CONFLICT_HINTS[conflict.over],
    shortReason: "vendor not trusted",
  },
  hardware_mismatch: {
    status: 400,
    message: ({ until, appliances }) => {
      if (until !== undefined) {
        return `the license was signed for the previous host and was valid here until ${rfc3339(until)}; create a new request on this machine`;
      }
      return appliances === undefined
        ? "the license was signed for other hardware; create a new request on this machine"
        : `the license is for appliance ${appliances.signed}; this one is ${appliances.here}: ` +
            "install it there, or create a new request here";
    },
    hint: "create a new request with berth license request",
    shortReason: "issued for other hardware",
  },
  moved_away: {
    status: 409,
    message: ({ at }) => `this server was moved to another host on ${rfc3339(at)}; use that host`,
    shortReason: "moved to another host",
    sample: { at: SAMPLE_TIME },
  },
  request_unknown: {
    status: 400,
    message: ({ returned }) =>
      describeReturned(returned) ??
      "the license does not answer any request of this appliance; create a new request",
    hint: "create a new request with berth license request",
    shortReason: "unknown request",
  },
  request_used: {
    status: 400,
    message: () =>
      "the request that this license answers was already answered; create a new request",
    hint: "create a new request with berth license request",
    shortReason: "request already answered",
  },
  stale_license: {
    status: 400,
    message: ({ serial, returned }) =>
      describeReturned(returned) ??
      `serial ${serial} of this license was already installed here; request a newer license`,
    hint: "berth license list shows what is installed; berth license request requests a newer one",
    shortReason: "older than the installed license",
    sample: { serial: 4 },
  },
  unknown_vendor: {
    status: 400,
    message: () => "this vendor is not trusted",
    hint: "berth trust list shows all vendors",
    shortReason: "unknown vendor",
  },
  vendor_in_use: {
    status: 400,
    message: ({ licenses }) =>
      `licenses of this vendor are installed (${licenses}); return them first`,
    shortReason: "vendor’s licenses installed",
    sample: { licenses: 2 },
  },
  slots_borrowed: {
    status: 400,
    message: ({ slots }) =>
      `slots are borrowed (${slots}); with_borrows=true returns the license anyway`,
    commandLineMessage: ({ slots }) => `slots are borrowed (${slots})`,
    hint: "berth slots shows who borrows them; --with-borrows returns the license anyway",
    shortReason: "slots borrowed",
    sample: { slots: 5 },
  },
  too_many_audit_gaps: {
    status: 409,
    message: ({ limit }) => `the audit log already has ${limit} declared gaps, the maximum`,
    shortReason: "too many gaps in the audit log",
    sample: { limit: limits.auditGaps },
  },
} satisfies Partial<FaultRows<Fault["code"]>>;

function describeConflict(conflict: TrustConflict): string {
  if (conflict.over === "version") {
    return "the vendor's trust document was replaced at the same time; try again";
  }
  if (conflict.over === "license") {
    return `license ${conflict.license} belongs to another vendor or product`;
  }
  const { over, vendor } = conflict;
  return `a ${over} belongs to one vendor, and the trusted vendor ${vendor} already has one of these ${over}s`;
}

const CONFLICT_HINTS: Readonly<Record<TrustConflict["over"], string>> = {
  product: "berth trust list shows the products of each vendor; ask the vendor for other codes",
  key: "berth trust list shows the trusted vendors; ask the vendor for a correct trust document",
  license: "berth license list shows what is installed; ask the vendor for a new license",
  version: "run the command again",
};

const describeReturned = (returned: ReturnedLicense | undefined): string | null =>
  returned === undefined
    ? null
    : `license ${returned.license} was returned on ${rfc3339(returned.at)}; create a new request`;
