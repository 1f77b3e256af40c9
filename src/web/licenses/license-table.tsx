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
import { ageTextOf } from "../requests/request-row.ts";
import { requests } from "../requests/requests-texts.ts";

const COLUMNS: readonly LicenseColumn[] = [
  "product",
  "customer",
  "vendor",
  "slots",
  "used",
  "consumed",
  "end",
];

/** A column in which no license has anything only takes room. */
const hasContent = (column: LicenseColumn, rows: readonly LicenseRow[]): boolean =>
  column === "customer"
    ? rows.some(({ customer }) => customer !== "")
    : column !== "consumed" || rows.some(({ maxConsumed }) => maxConsumed !== null);

const order = signal<LicenseOrder>({ column: "end", isDescending: false });

function sortBy(column: LicenseColumn): void {
  const { value: current } = order;
  order.value = { column, isDescending: current.column === column && !current.isDescending };
}

/** One row per license; a click on a heading sorts by it. */
export function LicenseTable({ rows, now }: { rows: readonly LicenseRow[]; now: string }) {
  const { column: sorted, isDescending } = order.value;
  const direction = isDescending ? "descending" : "ascending";
  const columns = COLUMNS.filter((column) => hasContent(column, rows));
  return (
    <div class="table-scroller" tabIndex={0} role="region" aria-label={texts.label}>
      <table class="license-table">
        <thead>
          <tr>
            {columns.map((column) => (
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
            <Row key={row.id} row={row} columns={columns} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: LicenseRow;
  readonly columns: readonly LicenseColumn[];
  readonly now: string;
}

function Row({ row, columns, now }: RowProps) {
  const request = findOpenRequest(row.product);
  return (
    <tr class={row.refusal === null ? "" : "refused"}>
      <th scope="row">
        <a href={linkTo("licenses", String(row.id))}>{row.name}</a>
        {row.name !== row.product && <small class="muted">{row.product}</small>}
        {row.refusal !== null && <small class="bad">{reasonOf(row.refusal)}</small>}
        {request !== undefined && (
          <small class="muted">{requests.pending(ageTextOf(request, now))}</small>
        )}
      </th>
      {columns.includes("customer") && (
        <td data-label={texts.columns.customer} class={row.customer === "" ? "name none" : "name"}>
          {row.customer || "–"}
        </td>
      )}
      <td data-label={texts.columns.vendor} class="name">
        {row.vendor}
      </td>
      <td data-label={texts.columns.slots} class="number">
        {formatNumber(row.slots)}
      </td>
      <td data-label={texts.columns.used} class="number">
        {formatNumber(row.used)}
      </td>
      {columns.includes("consumed") && (
        <td
          data-label={texts.columns.consumed}
          class={row.maxConsumed === null ? "number none" : "number"}
        >
          {row.maxConsumed === null
            ? "–"
            : texts.consumed(formatNumber(row.consumed), formatNumber(row.maxConsumed))}
        </td>
      )}
      <td data-label={texts.columns.end}>
        {row.end === null ? texts.noExpiry : <Time at={row.end} as="end" />}
      </td>
      <td data-label={texts.daysLeft} class={row.end === null ? "none" : endClass(row, now)}>
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
