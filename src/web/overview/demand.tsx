import { admin, unwrapReply } from "../api.ts";
import { formatNumber } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { linkTo } from "../router.ts";
import { serverStatus } from "../status-stream.ts";
import { useQuery } from "../use-query.ts";
import { makeDemandRows, type DemandRow } from "./demand-rows.ts";
import { demand as texts } from "./overview-texts.ts";

const MINUTE = 60_000;

/** Each product in one row: its use of the last week against the limit, and who was denied. */
export function Demand() {
  const query = useQuery(
    (signal) => unwrapReply(admin.usage.get({ query: { range: "week" }, fetch: { signal } })),
    [],
    { watch: () => null, maxAge: MINUTE },
  );
  return (
    <section class="card demand">
      <header class="card-head">
        <h3>{texts.title}</h3>
        <a href={linkTo("reports")}>{texts.reports}</a>
      </header>
      <QueryContent query={query}>
        {(usage) => (
          <DataTable
            name={texts.title}
            columns={COLUMNS}
            rows={makeDemandRows(usage, serverStatus.value?.licenses ?? [])}
            keyOf={({ key }) => key}
            firstRows={30}
            canSave={false}
            empty={texts.none}
          />
        )}
      </QueryContent>
    </section>
  );
}

const nameOf = ({ product, feature }: DemandRow): string =>
  feature === null ? product : texts.feature(product, feature);

const highestOf = (values: readonly (number | null)[]): string =>
  formatNumber(Math.max(0, ...values.map((value) => value ?? 0)));

const Denied = ({ count }: { count: number }) =>
  count === 0 ? <>{formatNumber(0)}</> : <strong class="warn">{formatNumber(count)}</strong>;

const COLUMNS: readonly DataColumn<DemandRow>[] = [
  {
    title: texts.columns.product,
    value: nameOf,
    show: (row) => (
      <a
        href={linkTo("reports", row.product, ...(row.feature === null ? [] : [row.feature]))}
        aria-label={texts.reportOf(nameOf(row))}
      >
        {nameOf(row)}
      </a>
    ),
  },
  {
    title: texts.columns.week,
    csvTitle: texts.columns.peak,
    value: ({ peaks }) => Math.max(0, ...peaks.map((peak) => peak ?? 0)),
    show: ({ peaks, limits }) => (
      <Sparkline
        name={texts.sparkline(highestOf(peaks), highestOf(limits))}
        values={peaks}
        limits={limits}
      />
    ),
  },
  {
    title: texts.columns.now,
    value: ({ now }) => now?.used ?? null,
    show: ({ now }) =>
      now === null ? undefined : texts.ofLimit(formatNumber(now.used), formatNumber(now.limit)),
    isNumber: true,
  },
  {
    title: texts.columns.today,
    value: ({ deniedToday }) => deniedToday,
    show: ({ deniedToday }) => <Denied count={deniedToday} />,
    isNumber: true,
  },
  {
    title: texts.columns.denied,
    value: ({ denied }) => denied,
    show: ({ denied }) => <Denied count={denied} />,
    isNumber: true,
  },
];
