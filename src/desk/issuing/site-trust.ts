import type { LicenseRequest } from "../../license/requests/request.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import type { DeskFacts } from "../desk-records.ts";

/** The trust document of this vendor that a site has, compared with that of the desk. */
export interface SiteTrust {
  /** Whether the site needs the desk's: it has none, or an older one. */
  readonly needsDocument: boolean;
  readonly warnings: readonly string[];
}

const CAUSES =
  "this desk is a restored copy or has not accepted the newest one, or the root was misused";

/** Compares versions and hashes: the site's own statement, as everything in its request. */
export function compareSiteTrust(
  { vendor, trust }: Pick<DeskFacts, "vendor" | "trust">,
  request: LicenseRequest,
): SiteTrust {
  const known = request.trust.find((entry) => entry.vendor === vendor.vendor);
  if (known === undefined || known.version < vendor.version)
    return { needsDocument: true, warnings: [] };
  const isOther = known.version === vendor.version && known.sum !== sha256(trust.document);
  if (known.version === vendor.version && !isOther) return { needsDocument: false, warnings: [] };
  const what = isOther
    ? `another version ${known.version} of this vendor's trust document than the desk`
    : `version ${known.version} of this vendor's trust document, and the desk has ${vendor.version}`;
  const warning = `the site has ${what}: ${CAUSES}`;
  return { needsDocument: false, warnings: [warning] };
}
