import { admin, unwrapReply } from "../api.ts";
import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { useQuery } from "../use-query.ts";
import type { Query } from "../query.ts";
import type { TimeBounds } from "./address.ts";

export interface WantedReport {
  /** Null: all products. */
  readonly product: string | null;
  readonly feature: string | null;
  readonly bounds: () => TimeBounds;
  readonly idleDays: number;
}

/** A report costs the server work, and figures of weeks hardly change within minutes. */
const MAX_AGE = 120_000;

/** Of the reader: days and hours are those of the clock on the wall. */
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

/** Reads a report while it is shown; `deps` change with what is wanted. */
export function useReport(wanted: WantedReport, deps: readonly unknown[]): Query<ReportReply> {
  const { product, feature, idleDays } = wanted;
  return useQuery(
    (signal) =>
      unwrapReply(
        admin.report.get({
          query: {
            ...wanted.bounds(),
            ...(product !== null && { product }),
            ...(feature !== null && { feature }),
            time_zone: timeZone,
            idle_days: String(idleDays),
          },
          fetch: { signal },
        }),
      ),
    [product, feature, idleDays, ...deps],
    { watch: () => null, maxAge: MAX_AGE },
  );
}
