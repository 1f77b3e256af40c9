import { isKeyRetired } from "../../domain/trust/trust.ts";
import type { State } from "../../domain/model/state.ts";
import { DAY, later, type Instant } from "../../domain/time.ts";
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

/** A newer document may be installed without a person who looks at it. */
const SHOWN_FOR = 7 * DAY;

export const checkTrust = (
  { changes, retiredLicenses }: TrustFacts,
  now: Instant,
): HealthReport => ({
  findings: [
    ...retiredLicenses.map(retiredFinding),
    ...changes.filter(({ at }) => now < later(at, SHOWN_FOR)).map(changeFinding),
  ],
  passed: [],
});

const retiredFinding = ({ license, product, vendor }: RetiredLicense): Finding =>
  createFinding("license_key_retired", "warning", {
    summary: `${product}: license ${license} is signed with a key that ${vendor} has retired`,
    remedy:
      "Request it again: the vendor signs it with its new key; if the vendor does not know it, a thief of the old key made it",
    command: `berth license request --product ${product}`,
    subject: product,
  });

const changeFinding = ({ name, texts }: VendorChanges): Finding =>
  createFinding("trust_changed", "note", {
    summary: `The newest trust document of ${name}: ${texts.join("; ")}`,
    remedy: "Ask the vendor if you did not expect this",
    command: "berth trust list",
    subject: name,
  });
