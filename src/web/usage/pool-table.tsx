import { useSignal } from "@preact/signals";
import { formatNumber, formatMean } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { Field } from "../parts/field.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { reportLink, type ReportAddress } from "./address.ts";
import type { PoolRow } from "./pool-rows.ts";
import { reports } from "./reports-texts.ts";
import { formatHours } from "./tables.tsx";

const { pools: texts } = reports;

interface Props {
  readonly name: string;
  readonly rows: readonly PoolRow[];
  readonly address: ReportAddress;
}

/** With so many rows, one is found faster by its name. */
const ROWS_WITH_SEARCH = 12;
/** Fewer days make no line. */
const MIN_TREND_DAYS = 3;

/** Every product and feature in one row, with a small chart of its use by day. */
export function PoolTable({ name, rows, address }: Props) {
  const search = useSignal("");
  const wanted = search.value.trim().toLowerCase();
  const shown = rows.filter(({ product, feature }) =>
    reports.poolName(product, feature).toLowerCase().includes(wanted),
  );
  const hasTrend = rows.some(({ peaks }) => peaks.length >= MIN_TREND_DAYS);
  return (
    <>
      {rows.length > ROWS_WITH_SEARCH && (
        <div class="pool-search">
          <Field label={texts.filter} value={search} type="search" />
        </div>
      )}
      <DataTable
        name={name}
        columns={columnsFor(address, hasTrend)}
        rows={shown}
        keyOf={({ key }) => key}
        empty={wanted === "" ? texts.empty : texts.noMatch}
      />
    </>
  );
}

function columnsFor(address: ReportAddress, hasTrend: boolean): readonly DataColumn<PoolRow>[] {
  const { columns } = texts;
  return [
    {
      title: columns.name,
      value: ({ product, feature }) => reports.poolName(product, feature),
      show: ({ product, feature }) => (
        <a href={reportLink({ ...address, product, feature, day: null })}>
          {reports.poolName(product, feature)}
        </a>
      ),
    },
    ...(hasTrend ? [TREND] : []),
    {
      title: columns.now,
      value: ({ now }) => now?.used ?? null,
      show: ({ now }) => (now === null ? undefined : ofLimit(now.used, now.limit)),
      isNumber: true,
    },
    { title: columns.peak, value: ({ peak }) => peak, isNumber: true },
    { title: columns.p95, value: ({ p95 }) => p95, isNumber: true },
    {
      title: columns.mean,
      value: ({ mean }) => mean,
      show: ({ mean }) => formatMean(mean),
      isNumber: true,
    },
    {
      title: columns.full,
      value: ({ hours_at_limit }) => hours_at_limit,
      show: ({ hours_at_limit }) => formatHours(hours_at_limit),
      isNumber: true,
    },
    {
      title: columns.denied,
      value: ({ episodes }) => episodes,
      show: ({ episodes }) =>
        episodes === 0 ? formatNumber(0) : <strong class="warn">{formatNumber(episodes)}</strong>,
      isNumber: true,
    },
  ];
}

const ofLimit = (used: number, limit: number): string =>
  texts.ofLimit(formatNumber(used), formatNumber(limit));

const TREND: DataColumn<PoolRow> = {
  title: texts.columns.trend,
  value: ({ limit }) => limit,
  csvTitle: texts.columns.limit,
  show: (row) => (
    <Sparkline
      name={`${texts.columns.peak} ${ofLimit(row.peak, row.limit)}`}
      values={row.peaks}
      limits={row.limitsByDay}
    />
  ),
};
