import { isKeyRetired } from "../../domain/trust/trust.ts";
import type { State } from "../../domain/model/state.ts";
import { later, type Instant } from "../../domain/time.ts";
import { limits } from "../../domain/model/limits.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";

/** What the trust documents of the vendors mean for what is installed. */
export interface TrustFacts {
  /** The vendors whose newest document changed something. */
  readonly changes: readonly VendorChanges[];
  readonly retiredLicenses: readonly RetiredLicense[];
}

export interface VendorChanges {
  readonly vendor: string;
  readonly name: string;
  readonly at: Instant;
  readonly texts: readonly string[];
}

/** An installed license that a retired key signed: it may be a thief's. */
export interface RetiredLicense {
  readonly license: number;
  readonly product: string;
  readonly vendor: string;
}

export const collectTrustFacts = (state: State): TrustFacts => ({
  changes: [...state.vendors.values()].flatMap(({ vendor, name, notice }) =>
    notice === null || notice.changes.length === 0
      ? []
      : [{ vendor, name, at: notice.at, texts: notice.changes }],
  ),
  retiredLicenses: [...state.licenses.values()].flatMap(({ id, terms: { product }, grant }) =>
    isKeyRetired(state, grant.vendor, grant.key)
      ? [{ license: id, product, vendor: state.vendors.get(grant.vendor)?.name ?? grant.vendor }]
      : [],
  ),
});

/** A document may drop 1,000 products; the audit log has all changes. */
const MAX_SHOWN = 8;

export const checkTrust = (
  { changes, retiredLicenses }: TrustFacts,
  now: Instant,
): HealthReport => ({
  findings: [
    ...retiredLicenses.map(retiredFinding),
    ...changes.filter(({ at }) => now < later(at, limits.trustNoticeAge)).map(changeFinding),
  ],
  passed: [],
});

const retiredFinding = ({ license, product, vendor }: RetiredLicense): Finding =>
  createFinding("license_key_retired", "warning", {
    summary: `${product}: license ${license} is signed with a key that ${vendor} has retired`,
    remedy:
      "Request it again: the vendor signs it with its new key; if the vendor does not know it, a thief of the old key made it",
    command: `berth license request --product ${quoteIfNeeded(product)}`,
    subject: product,
  });

/** A newer document may be installed without a person who looks at it. */
function changeFinding({ name, texts }: VendorChanges): Finding {
  const more = texts.length - MAX_SHOWN;
  const shown = texts.slice(0, MAX_SHOWN);
  const text = [...shown, ...(more > 0 ? [`${more} more in the audit log`] : [])].join("; ");
  return createFinding("trust_changed", "note", {
    summary: `The newest trust document of ${name}: ${text}`,
    remedy: "Ask the vendor if you did not expect this",
    command: "berth trust list",
    subject: name,
  });
}
