import { signal } from "@preact/signals";
import { isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import { formatNumber } from "../format.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../router.ts";
import { expiryWarningDays } from "../status-stream.ts";
import { findOpenRequest } from "./license-data.ts";
import {
  daysLeftText,
  sortLicenseRows,
  type LicenseColumn,
  type LicenseOrder,
  type LicenseRow,
} from "./license-rows.ts";
import { licenseTable as texts } from "./license-table-texts.ts";
import { ageTextOf } from "./requests/request-row.ts";
import { requests } from "./requests/requests-texts.ts";

const COLUMNS: readonly LicenseColumn[] = [
  "product",
  "customer",
  "vendor",
  "slots",
  "used",
  "consumed",
  "end",
];

const order = signal<LicenseOrder>({ column: "end", isDescending: false });

function sortBy(column: LicenseColumn): void {
  const { value: current } = order;
  order.value = { column, isDescending: current.column === column && !current.isDescending };
}

/** One row per license; a click on a heading sorts by it. */
export function LicenseTable({ rows, now }: { rows: readonly LicenseRow[]; now: string }) {
  const { column: sorted, isDescending } = order.value;
  const direction = isDescending ? "descending" : "ascending";
  return (
    <div class="table-scroller" tabIndex={0} role="region" aria-label={texts.label}>
      <table class="license-table">
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <th key={column} scope="col" aria-sort={column === sorted ? direction : "none"}>
                <button type="button" onClick={() => sortBy(column)}>
                  {texts.columns[column]}
                  <span aria-hidden="true">
                    {column === sorted ? (isDescending ? " ↓" : " ↑") : ""}
                  </span>
                </button>
              </th>
            ))}
            <th scope="col">{texts.daysLeft}</th>
          </tr>
        </thead>
        <tbody>
          {sortLicenseRows(rows, order.value).map((row) => (
            <Row key={row.id} row={row} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ row, now }: { row: LicenseRow; now: string }) {
  const request = findOpenRequest(row.product);
  return (
    <tr class={row.refusal === null ? "" : "refused"}>
      <th scope="row">
        <a href={linkTo("licenses", String(row.id))}>{row.name}</a>
        {row.refusal !== null && <small class="bad">{reasonOf(row.refusal)}</small>}
        {request !== undefined && (
          <small class="muted">{requests.pending(ageTextOf(request, now))}</small>
        )}
      </th>
      <td data-label={texts.columns.customer}>{row.customer || "–"}</td>
      <td data-label={texts.columns.vendor}>{row.vendor}</td>
      <td data-label={texts.columns.slots} class="number">
        {formatNumber(row.slots)}
      </td>
      <td data-label={texts.columns.used} class="number">
        {formatNumber(row.used)}
      </td>
      <td data-label={texts.columns.consumed} class="number">
        {row.maxConsumed === null
          ? "–"
          : texts.consumed(formatNumber(row.consumed), formatNumber(row.maxConsumed))}
      </td>
      <td data-label={texts.columns.end}>
        {row.end === null ? texts.noExpiry : <Time at={row.end} as="end" />}
      </td>
      <td data-label={texts.daysLeft} class={endClass(row, now)}>
        {daysLeftText(row, now) || "–"}
      </td>
    </tr>
  );
}

function endClass({ end }: LicenseRow, now: string): string {
  if (end === null) return "";
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  if (endsAt <= at) return "bad";
  return isEndingSoon(endsAt, at, expiryWarningDays.value) ? "warn" : "";
}
