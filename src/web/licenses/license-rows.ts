import { instant } from "../../domain/time.ts";
import { describeEnd } from "../../domain/licenses/end-date.ts";
import type { License, LicenseStatus } from "./license.ts";

/** A license as a row of the table. */
export interface LicenseRow {
  readonly id: number;
  readonly product: string;
  readonly name: string;
  readonly customer: string;
  readonly vendor: string;
  readonly slots: number;
  readonly used: number;
  readonly consumed: number;
  /** Null: consumption is not counted, or has no limit. */
  readonly maxConsumed: number | null;
  /** Null: no expiry. */
  readonly end: string | null;
  readonly refusal: string | null;
}

export type LicenseColumn =
  "product" | "customer" | "vendor" | "slots" | "used" | "consumed" | "end";

export interface LicenseOrder {
  readonly column: LicenseColumn;
  readonly isDescending: boolean;
}

export function makeLicenseRows(
  statuses: readonly LicenseStatus[],
  licenses: readonly License[],
  vendorNames: ReadonlyMap<string, string>,
): LicenseRow[] {
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return statuses.map((status) => {
    const license = byId.get(status.license_id);
    return {
      id: status.license_id,
      product: status.product,
      name: license?.product_details.product_name ?? status.product,
      customer: license?.customer ?? "",
      vendor: vendorNames.get(status.vendor) ?? status.vendor,
      slots: status.floating_users,
      used: status.floating_slots_in_use,
      consumed: status.total_consumptions,
      maxConsumed: status.max_consumptions,
      end: status.validity_period,
      refusal: status.refusal,
    };
  });
}

const DAY = 86_400_000;

/** Days are counted in UTC, as `describeEnd` does. What has expired is within any number of days. */
export function filterByEnd(
  rows: readonly LicenseRow[],
  withinDays: number | null,
  now: string,
): LicenseRow[] {
  if (withinDays === null) return [...rows];
  const today = Math.floor(Date.parse(now) / DAY);
  return rows.filter(
    ({ end }) => end !== null && Math.floor(Date.parse(end) / DAY) - today <= withinDays,
  );
}

/** Licenses without an expiry come last when sorted by it; equal rows by product, then by id. */
export function sortLicenseRows(
  rows: readonly LicenseRow[],
  { column, isDescending }: LicenseOrder,
): LicenseRow[] {
  const direction = isDescending ? -1 : 1;
  return rows.toSorted(
    (a, b) =>
      direction * compareValues(valueOf(a, column), valueOf(b, column)) ||
      compareValues(a.name, b.name) ||
      a.id - b.id,
  );
}

function valueOf(row: LicenseRow, column: LicenseColumn): string | number {
  switch (column) {
    case "product":
      return row.name;
    case "end":
      return row.end === null ? Infinity : Date.parse(row.end);
    default:
      return row[column];
  }
}

const compareValues = (a: string | number, b: string | number): number =>
  typeof a === "string" && typeof b === "string"
    ? a.localeCompare(b)
    : Number(a) === Number(b)
      ? 0
      : Number(a) < Number(b)
        ? -1
        : 1;

/** "11 days", counted as everywhere, or "expired"; empty without an expiry. */
export const daysLeftText = ({ end }: LicenseRow, now: string): string =>
  end === null
    ? ""
    : describeEnd(instant(Date.parse(end)), instant(Date.parse(now))).replace(
        /^(?:has|expires) (?:in )?/,
        "",
      );

/** Null for a text that is no whole number of days: then nothing is filtered. */
export const parseDays = (text: string): number | null =>
  /^\d{1,5}$/.test(text.trim()) ? Number(text.trim()) : null;
