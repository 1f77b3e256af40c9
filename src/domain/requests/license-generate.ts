import { totalAt } from "../consumption/counters.ts";
import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { ReportedHead } from "../model/pair/licensed-host.ts";
import { findRequestedPair, type WantedHosts } from "../licenses/requested-pair.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { OpenRequest, RequestReport, State } from "../model/state.ts";
import type { Instant } from "../time.ts";

export interface LicenseGenerate {
  readonly type: "LicenseGenerate";
  readonly request: Omit<OpenRequest, "at" | "report" | "pair">;
  /** Absent: as many as the installed license of the product has. */
  readonly hosts?: WantedHosts;
  /** Where the journals of the hosts end; absent: this host is alone. */
  readonly hostHeads?: readonly ReportedHead[];
  readonly head: { readonly auditSeq: number; readonly auditSum: string };
  readonly peer: string;
}

/** Creates a request for the vendor. It stays open until it is answered, dropped or too old. */
export function decideLicenseGenerate(
  state: State,
  { request, hosts, hostHeads = [], head, peer }: LicenseGenerate,
  { at }: RuleContext,
): Result<Decision<OpenRequest>, Fault> {
  const pair = findRequestedPair(state, request, hosts, hostHeads);
  if (!pair.ok) return pair;
  const openRequest = {
    ...request,
    at,
    report: reportAppliance(state, at),
    ...(pair.value !== null && { pair: pair.value }),
  };
  return makeDecision([{ type: "RequestMade", at, request: openRequest, head, peer }], openRequest);
}

/**
 * What a request that is created now says of this appliance. Sorted, because a state that was read
 * from disk may have another order than one that was built by its events.
 */
const reportAppliance = (state: State, at: Instant): RequestReport => ({
  createdAt: at,
  licenses: [...state.licenses.values()]
    .toSorted((a, b) => a.id - b.id)
    .map(({ id, terms, grant, counter }) => ({
      license: id,
      product: terms.product,
      vendor: grant.vendor,
      serial: grant.serial,
      total: totalAt(counter, at),
    })),
  trust: [...state.vendors.values()]
    .toSorted((a, b) => (a.vendor < b.vendor ? -1 : 1))
    .map(({ vendor, version, sum }) => ({ vendor, version, sum })),
  restores: [...state.restores],
});
