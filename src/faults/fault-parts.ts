import type { ReturnedLicense, TrustConflict } from "../domain/model/fault.ts";
import type { Instant } from "../domain/time.ts";
import { rfc3339 } from "../platform/rfc3339.ts";

/** An instant for samples. */
export const SAMPLE_TIME = Date.UTC(2027, 0, 31, 18) as Instant;

export const formatList = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;

/** Why a vendor is not trusted with what its document claims. */
export function describeConflict(conflict: TrustConflict): string {
  if (conflict.over === "license") {
    return `license ${conflict.license} belongs to another vendor or product`;
  }
  if (conflict.over === "key") {
    return `the key in this file is no root: it signed the installed license ${conflict.license} for another vendor`;
  }
  return `a product belongs to one vendor, and the trusted vendor ${conflict.vendor} already has one of these products`;
}

export const CONFLICT_HINTS: Readonly<Record<TrustConflict["over"], string>> = {
  product: "berth trust list shows the products of each vendor; ask the vendor for other codes",
  key: "do not trust this vendor; tell the vendor of that license, whose key may be stolen",
  license: "berth license list shows what is installed; ask the vendor for a new license",
};

/** Null: the license was not returned. */
export const describeReturned = (returned: ReturnedLicense | undefined): string | null =>
  returned === undefined
    ? null
    : `license ${returned.license} was returned on ${rfc3339(returned.at)}; create a new request`;
