import type { LicenseRequest } from "../../license/requests/request.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import type { DeskFacts } from "../desk-records.ts";
import type { SeenGrace } from "../ledger/ledger-entries.ts";
import { findComparedEntries, findSeenEntries } from "./request-order.ts";

/** This vendor's licenses that began a grace period with a restore, as the request says. */
export function listGraces(desk: Pick<DeskFacts, "vendor">, request: LicenseRequest): SeenGrace[] {
  const isOwn = (id: number): boolean =>
    request.licenses.some(
      ({ license_id, vendor }) => license_id === id && vendor === desk.vendor.vendor,
    );
  return (request.restores ?? []).flatMap(({ lineage, at, grace = [] }) =>
    grace
      .filter(({ license_id }) => isOwn(license_id))
      .map((license) => ({ ...license, lineage, at })),
  );
}

/**
 * Licenses that were restored on other hardware twice with the same serial. The site itself extends
 * no grace period; but a backup restored twice on two machines knows of one restore each time.
 * A restore that the vendor accepted is not found again in the requests that continue that one.
 */
export function findRepeatedRestores(desk: DeskFacts, request: LicenseRequest): string[] {
  const graces = listGraces(desk, request);
  const compared = findComparedEntries(desk, request).flatMap(({ grace = [] }) => grace);
  const accepted = new Set(compared.map(({ lineage }) => lineage));
  const seen = findSeenEntries(desk, request).flatMap(({ grace = [] }) => grace);
  const repeated = graces.flatMap((grace, index) => {
    if (accepted.has(grace.lineage)) return [];
    const other = [...seen, ...graces.slice(0, index)].find(
      ({ license_id, serial, lineage }) =>
        license_id === grace.license_id && serial === grace.serial && lineage !== grace.lineage,
    );
    return other === undefined ? [] : [{ ...grace, otherAt: other.at }];
  });
  return repeated.map(
    ({ license_id, serial, at, otherAt }) =>
      `license ${license_id}, serial ${serial}, was restored on other hardware twice (${otherAt} ` +
      `and ${at}), but its grace period is for one restore`,
  );
}

/** What the vendor should know before it signs this term; empty: the terms do not have it. */
export const describeRestoreGrace = ({
  restore_grace_hours: hours,
}: Pick<TermsDocument, "restore_grace_hours">): string[] =>
  hours === undefined
    ? []
    : [
        `for ${hours === 1 ? "1 hour" : `${hours} hours`} after a restore on another machine, ` +
          "every slot can be used twice if the old machine still runs",
      ];
